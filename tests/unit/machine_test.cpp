#include "machine/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "machine/check.hpp"
#include "machine/description.hpp"
#include "machine/machine_text.hpp"
#include "machine/short_text.hpp"
#include "machine/stored.hpp"
#include "random_machine.hpp"
#include "topology_checks.hpp"

namespace weir {
namespace {

TEST(Machine, data_leaves_at_the_nearest_bridge_of_its_group) {
  const Machine machine = parse_short_text(
                              "mesh 16 gateway every 8 bridges at 0,7 bridge 2GBps 3us gateway 4GBps "
                              "storage gpfs 9GBps 1ms link 1GBps latency 1us")
                              .value();
  EXPECT_EQ(machine.groups(), 2);
  EXPECT_EQ(machine.bridge_of(2), 0);
  EXPECT_EQ(machine.bridge_of(5), 7);
  EXPECT_EQ(machine.bridge_of(9), 8);
  EXPECT_EQ(machine.hops_to_storage(2), 3);
  std::vector<int> links;
  machine.route_to_storage(2, links);
  ASSERT_EQ(links.size(), 5u);
  EXPECT_EQ(machine.link_class(links[2]), "bridge");
  EXPECT_EQ(machine.link_bandwidth(links[2]), 2e9);
  EXPECT_EQ(machine.link_latency(links[2]), 3e-6);
  EXPECT_EQ(machine.link_class(links[3]), "gateway");
  EXPECT_EQ(machine.link_bandwidth(links[3]), 4e9);
  EXPECT_EQ(machine.link_class(links[4]), "storage");
  EXPECT_EQ(machine.link_bandwidth(links[4]), 9e9);
  EXPECT_EQ(machine.link_latency(links[4]), 1e-3);
  EXPECT_EQ(links[4], machine.links() - 1);
}

TEST(Machine, without_bridges_every_node_leaves_by_itself) {
  const Machine machine = parse_short_text("flat 4").value();
  EXPECT_EQ(machine.bridge_of(3), 3);
  EXPECT_EQ(machine.hops_to_storage(3), 1);
  std::vector<int> links;
  machine.route_to_storage(3, links);
  EXPECT_EQ(links.size(), 3u);
  for (const int link : links) EXPECT_TRUE(std::isinf(machine.link_bandwidth(link)));
}

TEST(Machine, routes_of_random_machines_hold_what_they_promise) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Machine machine = random_machine(seed);
    EXPECT_FALSE(check(machine));
    if (machine.topology->kind() != "table")
      expect_sound(*machine.topology,
                   machine.topology->kind() == "dragonfly" ? Routes::longer_ones_too : Routes::shortest);
    std::vector<int> links;
    for (int node = 0; node < machine.nodes(); ++node) {
      links.clear();
      machine.route_to_storage(node, links);
      const int bridge = machine.bridge_of(node);
      EXPECT_EQ(bridge / machine.group_size(), node / machine.group_size());
      for (const int link : links) {
        ASSERT_GE(link, 0);
        ASSERT_LT(link, machine.links());
        EXPECT_GT(machine.link_bandwidth(link), 0);
      }
      EXPECT_EQ(machine.link_class(links.back()), "storage");
    }
  }
}

TEST(Machine, text_for_people_names_every_figure_with_its_origin) {
  const std::string text = machine_text(stored_machine("mira-512").value());
  for (const char* part :
       {"mira-512", "torus, shape [4, 4, 4, 4, 2]", "512 nodes with 16 ranks each", "2 GB/s (document: TAPIOCA)",
        "1 us (assumed)", "4 groups of 128 nodes", "at 42, 106", "0 to 2 MB at random",
        "16 aggregators, 2 buffers of 16 MB", "4 groups of 128 nodes (document: TAPIOCA)",
        "at 42, 106 (assumed: that there are two", "network     assumed: lengths", "ranks       document: TAPIOCA"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

TEST(StoredMachine, all_can_be_read_and_have_their_file_s_name) {
  EXPECT_EQ(stored_machines().size(), 9u);
  for (const StoredMachine& stored : stored_machines()) {
    Result<Machine> machine = stored_machine(stored.name);
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    EXPECT_EQ(machine->name, stored.name);
    EXPECT_FALSE(machine->about.empty());
    EXPECT_FALSE(machine->banks.empty());
    EXPECT_FALSE(machine->storage.kind.empty());
    EXPECT_TRUE(read_machine(write_machine(*machine), "again").value() == *machine) << stored.name;
  }
}

TEST(StoredMachine, figures_are_from_a_document_or_assumed_and_documents_are_named) {
  const auto expect_origin = [](const auto& figure) {
    if (!figure.known()) return;
    EXPECT_TRUE(figure.origin == Origin::assumed || (figure.origin == Origin::document && !figure.note.empty()))
        << format_figure(figure);
  };
  for (const StoredMachine& stored : stored_machines()) {
    SCOPED_TRACE(stored.name);
    const Machine machine = stored_machine(stored.name).value();
    for (const LinkClass& link : machine.topology->classes()) {
      expect_origin(link.bandwidth);
      expect_origin(link.latency);
      EXPECT_TRUE(link.bandwidth.known() && link.latency.known()) << link.name;
    }
    for (const Bank& bank : machine.banks) {
      expect_origin(bank.capacity);
      expect_origin(bank.read);
      expect_origin(bank.write);
      expect_origin(bank.latency);
    }
    expect_origin(machine.io.bridge_bandwidth);
    expect_origin(machine.io.gateway_bandwidth);
    expect_origin(machine.io.latency);
    expect_origin(machine.storage.read);
    expect_origin(machine.storage.write);
    const auto expect_source = [](const Provenance& source, bool there) {
      if (!there) return;
      EXPECT_TRUE(source.origin == Origin::assumed || (source.origin == Origin::document && !source.note.empty()))
          << format_source(source);
    };
    expect_source(machine.origins.ranks_per_node, true);
    expect_source(machine.origins.topology, true);
    expect_source(machine.origins.group, machine.io.group > 0);
    expect_source(machine.origins.bridges, !machine.io.bridges.empty());
    expect_source(machine.origins.hops, !machine.io.hops.empty());
    expect_source(machine.origins.experiment, machine.experiment.has_value());
  }
}

TEST(StoredMachine, have_the_papers_sizes) {
  const auto nodes = [](const char* name) { return stored_machine(name).value().nodes(); };
  EXPECT_EQ(nodes("mira"), 49152);
  EXPECT_EQ(nodes("intrepid"), 40 * 1024);
  EXPECT_EQ(nodes("mira-512"), 512);
  EXPECT_EQ(nodes("cooley"), 126);
  EXPECT_EQ(stored_machine("intrepid").value().groups(), 640);
  const Machine toy = stored_machine("toy").value();
  const std::vector<int> sums{8, 5, 11, 6};
  for (int a = 0; a < 4; ++a) {
    int sum = 0;
    for (int b = 0; b < 4; ++b) sum += toy.topology->hops(b, a);
    EXPECT_EQ(sum, sums[static_cast<std::size_t>(a)]);
  }
  EXPECT_EQ(toy.hops_to_storage(2), 13);
}

TEST(FindMachine, takes_a_name_a_file_or_a_short_text) {
  EXPECT_EQ(find_machine("toy").value().nodes(), 4);
  EXPECT_EQ(find_machine("flat 3").value().nodes(), 3);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("weir_find_machine_" + std::to_string(getpid()));
  for (const char* ending : {"", ".toml"}) {
    const std::string path = file.string() + ending;
    std::ofstream{path} << write_machine(find_machine("flat 5").value());
    EXPECT_EQ(find_machine(path).value().nodes(), 5);
    std::filesystem::remove(path);
  }
  const std::string slurm = file.string() + ".conf";
  std::ofstream{slurm} << "SwitchName=s Nodes=n[1-6]\n";
  EXPECT_EQ(find_machine(slurm).value().nodes(), 6);
  std::filesystem::remove(slurm);
}

TEST(FindMachine, says_what_there_is_when_nothing_fits) {
  const Status unknown = find_machine("thetta").status();
  EXPECT_EQ(unknown.code(), Code::invalid);
  EXPECT_NE(unknown.message().find("did you mean 'theta'?"), std::string::npos) << unknown.message();
  EXPECT_EQ(find_machine("missing.toml").status().code(), Code::not_found);
  EXPECT_FALSE(find_machine("/").ok());
  EXPECT_FALSE(find_machine("").ok());
}

}  // namespace
}  // namespace weir

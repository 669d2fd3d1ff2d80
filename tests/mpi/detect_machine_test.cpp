#include "engine/detect_machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "engine/context.hpp"
#include "machine/local_device.hpp"
#include "mpi/world.hpp"

namespace weir::testing {
namespace {

class DetectMachine : public World {
 protected:
  static Team& team_of(Context& context) { return *context.impl()->team; }

  /// Writes 200 kB of every rank, and tells how.
  std::string written(Context& context, const Settings& settings) const {
    auto file = context.create(directory() + "/data", settings);
    EXPECT_TRUE(file.ok()) << file.status().message();
    const std::vector<std::byte> data(200'000, std::byte{7});
    auto step = file->declare(Declaration{{static_cast<std::uint64_t>(rank()) * data.size(), data.size(), 0, 1}});
    EXPECT_TRUE(step.ok()) << step.status().message();
    if (!step) return {};
    EXPECT_EQ(step->write(0, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
    std::string said = step->explain();
    EXPECT_EQ(file->close().message(), "");
    return said;
  }

  /// Whether all ranks have the same bytes.
  static bool same_everywhere(const JoinedNodes& nodes) {
    Writer writer;
    store(writer, nodes);
    std::vector<std::byte> first = writer.data();
    std::uint64_t size = first.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    first.resize(size);
    MPI_Bcast(first.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
    return !any_rank(first != writer.data());
  }
};

TEST_F(DetectMachine, is_the_same_on_every_rank_and_pretended_nodes_count) {
  for (const int per_node : {0, 1, 2, 3}) {
    Context context{MPI_COMM_WORLD, {{"machine.ranks_per_node", std::to_string(per_node)},
                                     {"memory.node_directory", "/dev/shm"}}};
    const auto options = detect_options(context.impl()->settings, directory());
    auto nodes = detect_nodes(team_of(context), options);
    ASSERT_TRUE(nodes.ok()) << nodes.status().message();
    EXPECT_TRUE(same_everywhere(*nodes));
    auto machine = detect_machine(team_of(context), options);
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    const int expected = per_node == 0 ? 1 : (ranks() + per_node - 1) / per_node;
    EXPECT_EQ(machine->nodes(), expected);
    EXPECT_EQ(nodes->systems, 1);
    EXPECT_EQ(machine->ranks_per_node, per_node == 0 ? ranks() : std::min(per_node, ranks()));
    EXPECT_NE(machine->bank("dram"), nullptr);
    EXPECT_NE(machine->bank("/dev/shm"), nullptr);
    EXPECT_TRUE(machine->storage.block.known());
  }
}

TEST_F(DetectMachine, pretended_nodes_divide_the_memory) {
  Context whole{MPI_COMM_WORLD}, parts{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}}};
  const DetectOptions options{.hardware = "pack:1 [numa(memory=64GB)] core:2 pu:1"};
  auto one = detect_machine(team_of(whole), options), many = detect_machine(team_of(parts), options);
  ASSERT_TRUE(one.ok() && many.ok());
  EXPECT_DOUBLE_EQ(one->bank("dram")->capacity.value, 64e9);
  EXPECT_DOUBLE_EQ(many->bank("dram")->capacity.value, 64e9 / ranks());
}

TEST_F(DetectMachine, a_bank_that_one_node_lacks_is_left_out_everywhere) {
  Context context{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}}};
  DetectOptions options;
  if (rank() != ranks() - 1 || ranks() == 1) options.node_directories = {directory()};
  auto machine = detect_machine(team_of(context), options);
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->bank(directory()) != nullptr, ranks() == 1);
}

TEST_F(DetectMachine, a_directory_of_each_node_is_a_bank_for_buffers) {
  const std::string pattern = directory() + "/n{node}";
  std::filesystem::create_directory(on_node(pattern, rank()));
  const Settings settings{
      {"machine.ranks_per_node", "1"}, {"memory.node_directory", pattern}, {"memory.persistency", "job"}};
  Context context{MPI_COMM_WORLD, settings};
  ASSERT_NE(context.impl()->machine->bank(pattern), nullptr);
  const std::string said = written(context, {});
  EXPECT_NE(said.find("are in " + pattern), std::string::npos) << said;
}

TEST_F(DetectMachine, is_done_for_jobs_on_several_nodes_unless_settings_say_otherwise) {
  Context alone{MPI_COMM_WORLD};
  EXPECT_EQ(alone.impl()->machine, nullptr);
  const std::string calibrations = directory() + "/none";
  Context several{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}, {"machine.calibration", calibrations}}};
  Context none{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}, {"machine.description", "none"}}};
  EXPECT_EQ(none.impl()->machine, nullptr);
  if (ranks() == 1) {
    EXPECT_EQ(several.impl()->machine, nullptr);
    return;
  }
  ASSERT_NE(several.impl()->machine, nullptr);
  EXPECT_EQ(several.impl()->machine->nodes(), ranks());
  EXPECT_FALSE(several.impl()->trusts_figures);
  const std::string said = written(several, {{"plan.mode", "aggregate"}});
  for (const char* part : {"model weir on ", "candidates for domain 0:", "chosen", "placements that were compared:",
                           "aggregators, 2 buffers of", "bytes by class of link:", "predicted:", "by these figures:",
                           "by a rule of thumb, as nobody has measured the storage", "measured"})
    EXPECT_NE(said.find(part), std::string::npos) << part << '\n' << said;
  EXPECT_EQ(written(none, {{"plan.mode", "aggregate"}}).find("candidates"), std::string::npos);
}

TEST_F(DetectMachine, is_asked_for_its_opinion_by_explanations_on_one_node) {
  Context context{MPI_COMM_WORLD};
  for (const char* mode : {"direct", "aggregate"}) {
    const std::string said = written(context, {{"plan.mode", mode}});
    for (const char* part : {"every rank for itself", "predicted", "measured", "by these figures: storage writes"})
      EXPECT_NE(said.find(part), std::string::npos) << part << '\n' << said;
    const bool aggregates = said.find("candidates for domain 0:") != std::string::npos;
    EXPECT_EQ(aggregates, std::string_view{mode} == "aggregate") << said;
  }
  EXPECT_EQ(context.impl()->machine, nullptr);
}

TEST_F(DetectMachine, buffers_of_a_node_fit_together_into_a_bank_and_all_ranks_say_where_they_are) {
  if (ranks() < 2) return;
  constexpr int kib = 1024;
  const auto described = [](int hbm_kib) {
    return fmt::format("flat 1 ranks 8 bank hbm {}B 200GBps 100ns bank dram 1GB 10GBps 100ns", hbm_kib * kib);
  };
  const Settings two{{"plan.mode", "aggregate"}, {"plan.aggregators", "2"}, {"plan.buffer_size", "65536"}};
  // An aggregator has two buffers and 64 KiB beside them: what is there for both, for the buffers alone, for one.
  Context roomy{MPI_COMM_WORLD, {{"machine.description", described(400)}}};
  EXPECT_NE(written(roomy, two).find("are in hbm (emulated: this node has no hbm)\n"), std::string::npos);
  Context tight{MPI_COMM_WORLD, {{"machine.description", described(320)}}};
  const std::string tight_said = written(tight, two);
  EXPECT_NE(tight_said.find("are in dram, because hbm had no room"), std::string::npos) << tight_said;
  EXPECT_NE(tight_said.find("are in hbm (emulated"), std::string::npos) << tight_said;
  Context small{MPI_COMM_WORLD, {{"machine.description", described(250)}}};
  const std::string small_said = written(small, two);
  EXPECT_NE(small_said.find("node 0 hbm"), std::string::npos) << small_said;
  EXPECT_NE(small_said.find("node 0 dram"), std::string::npos) << small_said;
  EXPECT_EQ(small_said.find("had no room"), std::string::npos) << small_said;
}

TEST_F(DetectMachine, more_buffers_than_the_machine_has_memory_are_an_error_and_not_the_end_of_processes) {
  const std::uint64_t memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * 4096;
  Context context{MPI_COMM_WORLD, {{"plan.memory", std::to_string(4 * memory)}, {"plan.mode", "aggregate"}}};
  auto file = context.create(directory() + "/data", {{"plan.buffer_size", std::to_string(2 * memory)}});
  ASSERT_TRUE(file.ok());
  const std::uint64_t mine = 8 * memory / static_cast<std::uint64_t>(ranks());
  auto step = file->declare(Declaration{{static_cast<std::uint64_t>(rank()) * mine, mine, 0, 1}});
  EXPECT_EQ(step.status().code(), Code::no_memory) << step.status().message();
  EXPECT_NE(step.status().message().find("are available"), std::string::npos) << step.status().message();
  EXPECT_TRUE(file->close().ok());
  EXPECT_NE(written(context, {}).find("measured"), std::string::npos);  // it can still be used
}

TEST_F(DetectMachine, a_node_that_cannot_look_is_everybodys_error) {
  Context context{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}}};
  DetectOptions options;
  if (rank() == ranks() - 1) options.hardware = "nonsense";
  const auto machine = detect_machine(team_of(context), options);
  EXPECT_EQ(machine.status().code(), Code::invalid);
  EXPECT_NE(machine.status().message().find("nonsense"), std::string::npos) << machine.status().message();
  EXPECT_TRUE(detect_machine(team_of(context), {}).ok());
}

}  // namespace
}  // namespace weir::testing

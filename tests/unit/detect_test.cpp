#include "machine/detect.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "machine/local_device.hpp"

namespace weir {
namespace {

std::string stored(const std::string& name) { return std::string{WEIR_TEST_DATA} + "/hwloc/" + name; }

NodeFacts detected(const std::string& hardware) { return detect_node({.hardware = hardware}).value(); }

std::vector<std::string> kinds(const std::vector<Bank>& banks) {
  std::vector<std::string> found;
  for (const Bank& bank : banks) found.push_back(bank.kind);
  return found;
}

TEST(Detect, finds_mcdram_of_a_knl_in_flat_mode_as_high_bandwidth_memory) {
  const auto banks = banks_of(detected(stored("knl_flat.xml")));
  ASSERT_EQ(kinds(banks), (std::vector<std::string>{"hbm", "dram"}));
  EXPECT_EQ(banks[0].capacity, (Capacity{16e9, Origin::system, ""}));
  EXPECT_EQ(banks[1].capacity.value, 96e9);
  EXPECT_EQ(banks[0].read.origin, Origin::assumed);
  EXPECT_EQ(banks[0].read.note, "usual for hbm");
  EXPECT_GT(banks[0].read.value, banks[1].read.value);
}

TEST(Detect, finds_high_bandwidth_memory_by_its_bandwidth_where_it_has_no_name) {
  const NodeFacts facts = detected(stored("hbm_by_attributes.xml"));
  ASSERT_EQ(facts.numa.size(), 4u);
  EXPECT_EQ(facts.numa[0].kind, "dram");
  EXPECT_EQ(facts.numa[1].kind, "hbm");
  const auto banks = banks_of(facts);
  ASSERT_EQ(kinds(banks), (std::vector<std::string>{"hbm", "dram"}));
  EXPECT_EQ(banks[0].capacity.value, 128e9);
  EXPECT_EQ(banks[0].write, (Bandwidth{500000.0 * (1 << 20), Origin::system, ""}));
  EXPECT_DOUBLE_EQ(banks[0].latency.value, 130e-9);
  EXPECT_EQ(banks[1].latency.origin, Origin::system);
}

TEST(Detect, finds_slow_memory_and_keeps_reading_and_writing_apart) {
  const auto banks = banks_of(detected(stored("dram_and_nvram.xml")));
  ASSERT_EQ(kinds(banks), (std::vector<std::string>{"dram", "nvram"}));
  EXPECT_DOUBLE_EQ(banks[1].read.value, 30000.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(banks[1].write.value, 8000.0 * (1 << 20));
  EXPECT_EQ(banks[0].latency.origin, Origin::assumed);
}

TEST(Detect, joins_the_memory_of_two_sockets_and_lists_caches_and_devices) {
  const NodeFacts facts = detected(stored("two_sockets.xml"));
  EXPECT_EQ(facts.cores, 8);
  const auto banks = banks_of(facts);
  ASSERT_EQ(kinds(banks), std::vector<std::string>{"dram"});
  EXPECT_EQ(banks[0].capacity.value, 256e9);
  const auto l3 = std::ranges::find(facts.caches, 3, &CacheFacts::level);
  ASSERT_NE(l3, facts.caches.end());
  EXPECT_EQ(l3->count, 2);
  EXPECT_EQ(l3->each.value, 32e6);
  ASSERT_EQ(facts.disks.size(), 2u);
  EXPECT_EQ(facts.disks[0], (BlockDevice{"nvme0n1", "nvme", {1562824368.0 * 1024, Origin::system, ""}}));
  EXPECT_EQ(facts.disks[1].kind, "disk");
  ASSERT_EQ(facts.networks.size(), 2u);
  EXPECT_EQ(facts.networks[0].kind, "infiniband");
  EXPECT_FALSE(facts.networks[0].bandwidth.known());
}

TEST(Detect, understands_a_synthetic_description) {
  const NodeFacts facts = detected("pack:4 [numa(memory=8GB)] core:2 pu:1");
  EXPECT_EQ(facts.cores, 8);
  EXPECT_EQ(banks_of(facts).at(0).capacity.value, 32e9);
}

TEST(Detect, tells_equal_hardware_from_other_hardware) {
  EXPECT_EQ(detected(stored("two_sockets.xml")).shape, detected(stored("two_sockets.xml")).shape);
  EXPECT_NE(detected(stored("two_sockets.xml")).shape, detected(stored("knl_flat.xml")).shape);
}

TEST(Detect, finds_the_place_of_a_cray_node) {
  const std::string path = ::testing::TempDir() + "xname";
  std::ofstream{path} << "x1000c3s5b0n1\n";
  auto facts = detect_node({.hardware = {}, .cray_names = {"/does/not/exist", path}});
  ASSERT_TRUE(facts) << facts.status().message();
  EXPECT_EQ(facts->switches, (std::vector<std::string>{"x1000", "c3", "s5"}));
  std::remove(path.c_str());
}

TEST(Detect, finds_where_a_node_is_by_its_name_and_by_the_scheduler) {
  const auto told = [](const std::string& host, const std::string& variable, const std::string& value) {
    DetectOptions options{.hardware = "pu:1", .cray_names = {}};
    options.host = host;
    options.environment = [=](const char* asked) { return variable == asked ? value.c_str() : nullptr; };
    return detect_node(options).value();
  };
  EXPECT_EQ(told("r12i3n4.ice.org", "", "").switches, (std::vector<std::string>{"r12", "i3"}));
  EXPECT_EQ(told("x1c2s3b0n0.hsn", "", "").switches, (std::vector<std::string>{"x1", "c2", "s3"}));
  EXPECT_TRUE(told("tux", "", "").switches.empty());
  EXPECT_TRUE(told("tux", "PJM_NODE_X", "4").job_shape.empty());
  DetectOptions both{.hardware = "pu:1"};
  both.environment = [](const char* asked) -> const char* {
    return std::string_view{asked} == "PJM_NODE_X" ? "4" : std::string_view{asked} == "PJM_NODE_Y" ? "2" : nullptr;
  };
  EXPECT_EQ(detect_node(both).value().job_shape, (std::vector<int>{2, 4}));
}

TEST(Detect, a_directory_of_each_node_is_one_bank) {
  const std::string pattern = ::testing::TempDir() + "detect_{node}";
  std::filesystem::create_directory(on_node(pattern, 3));
  const NodeFacts facts = detect_node({.hardware = "pu:1", .node_directories = {pattern}, .node = 3}).value();
  ASSERT_EQ(facts.directories.size(), 1u);
  EXPECT_EQ(facts.directories[0].name, pattern);
  EXPECT_EQ(facts.directories[0].path, pattern);
  EXPECT_EQ(detect_node({.hardware = "pu:1", .node_directories = {pattern}, .node = 4}).value().warnings.size(), 1u);
  std::filesystem::remove(on_node(pattern, 3));
}

TEST(Detect, refuses_hardware_that_cannot_be_read) {
  for (const char* wrong : {"nonsense", "/does/not/exist.xml", WEIR_TEST_DATA}) {
    const auto facts = detect_node({.hardware = wrong});
    EXPECT_EQ(facts.status().code(), Code::invalid) << wrong;
    EXPECT_NE(facts.status().message().find(wrong), std::string::npos) << facts.status().message();
  }
}

TEST(Detect, finds_memory_and_a_file_system_on_this_machine) {
  auto facts = detect_node({.storage_path = "/tmp/not-there-yet"});
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_FALSE(facts->host.empty());
  EXPECT_FALSE(facts->system.empty());
  const auto banks = banks_of(*facts);
  EXPECT_NE(std::ranges::find(banks, "dram", &Bank::kind), banks.end());
  for (const Bank& bank : banks) {
    EXPECT_TRUE(bank.capacity.known() && bank.latency.known() && bank.read.known() && bank.write.known()) << bank.name;
  }
  EXPECT_FALSE(facts->storage.kind.empty());
  EXPECT_EQ(facts->storage.free.origin, Origin::system);
  EXPECT_TRUE(facts->storage.block.known());
}

TEST(Detect, takes_directories_as_banks_and_warns_of_those_that_cannot_be_used) {
  auto facts = detect_node({.node_directories = split_directories("/dev/shm::/does/not/exist:/tmp:/etc/passwd")});
  ASSERT_TRUE(facts.ok());
  ASSERT_EQ(facts->directories.size(), 2u);
  EXPECT_EQ(facts->directories[0].path, "/dev/shm");
  EXPECT_EQ(facts->directories[0].kind, "dram");
  EXPECT_EQ(facts->directories[0].persistency, Persistency::job);
  EXPECT_TRUE(facts->directories[0].capacity.known());
  EXPECT_EQ(facts->directories[1].path, "/tmp");
  ASSERT_EQ(facts->warnings.size(), 2u);
  EXPECT_NE(facts->warnings[0].find("'/does/not/exist'"), std::string::npos);
  EXPECT_NE(facts->warnings[0].find("memory.node_directory"), std::string::npos);
}

TEST(Detect, facts_travel_unchanged_and_cut_ones_are_noticed) {
  auto facts = detect_node({.hardware = stored("two_sockets.xml"), .node_directories = {"/dev/shm", "/nowhere"}});
  ASSERT_TRUE(facts.ok());
  facts->switches = {"top", "leaf"};
  Writer writer;
  store(writer, *facts);
  Reader reader{writer.data()};
  EXPECT_EQ(load_node_facts(reader), *facts);
  EXPECT_TRUE(reader.ok() && reader.at_end());
  for (std::size_t size = 0; size < writer.data().size(); ++size) {
    Reader cut{std::span{writer.data()}.first(size)};
    (void)load_node_facts(cut);
    EXPECT_FALSE(cut.ok()) << size;
  }
}

}  // namespace
}  // namespace weir

#include "machine/joined_nodes.hpp"

#include <gtest/gtest.h>

#include <map>

#include "machine/scheduler.hpp"

namespace weir {
namespace {

std::vector<std::string> switches_of(const std::map<std::string, const char*>& environment) {
  return scheduler_switches([&](const char* variable) {
    const auto found = environment.find(variable);
    return found == environment.end() ? nullptr : found->second;
  });
}

NodeFacts facts_of(const std::string& host, double dram = 64e9) {
  NodeFacts facts;
  facts.host = facts.system = host;
  facts.shape = 1;
  facts.cores = 8;
  facts.numa.push_back({0, "dram", {dram, Origin::system, ""}, {}, {}, {}});
  facts.networks.push_back({"eth0", "ethernet", {}});
  facts.storage.kind = "nfs";
  return facts;
}

TEST(Scheduler, slurm_tells_the_switches_above_a_node) {
  EXPECT_EQ(switches_of({{"SLURM_TOPOLOGY_ADDR", "s0.s4.s8.tux1"},
                         {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.switch.switch.node"}}),
            (std::vector<std::string>{"s0", "s4", "s8"}));
  EXPECT_EQ(
      switches_of({{"SLURM_TOPOLOGY_ADDR", "s0.tux1.cluster.org"}, {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node"}}),
      std::vector<std::string>{"s0"});
}

TEST(Scheduler, tells_nothing_where_its_words_make_no_sense) {
  EXPECT_TRUE(switches_of({}).empty());
  EXPECT_TRUE(switches_of({{"SLURM_TOPOLOGY_ADDR", "tux1"}, {"SLURM_TOPOLOGY_ADDR_PATTERN", "node"}}).empty());
  EXPECT_TRUE(switches_of({{"SLURM_TOPOLOGY_ADDR", "tux1"}, {"SLURM_TOPOLOGY_ADDR_PATTERN", "switch.node"}}).empty());
  EXPECT_TRUE(switches_of({{"SLURM_TOPOLOGY_ADDR", "a.b"}, {"SLURM_TOPOLOGY_ADDR_PATTERN", ""}}).empty());
}

TEST(Scheduler, names_of_cray_nodes_tell_where_they_are) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(switches_in_name("c3-0c1s7n2\n"), (Names{"g1-0", "c3-0c1", "s7"}));
  EXPECT_EQ(switches_in_name("x1000c3s5b0n1"), (Names{"x1000", "c3", "s5"}));
  EXPECT_EQ(switches_in_name("r12i3n4"), (Names{"r12", "i3"}));
  for (const char* other : {"", "tux1", "c3-0c1s7", "c3-0c1s7n2x", "x1000c3s5", "c-0c1s7n2", "x1000c3s5b0n1.local",
                            "r12", "r12i3", "r12i3n", "rack1"})
    EXPECT_TRUE(switches_in_name(other).empty()) << other;
  // Cabinets 2 and 3 are one group: blades of one chassis, chassis of one group, groups.
  const auto topology = topology_of(4,
                                    joined_parents({switches_in_name("c2-0c0s0n0"), switches_in_name("c2-0c0s0n1"),
                                                    switches_in_name("c3-0c0s0n0"), switches_in_name("c4-0c0s0n0")}),
                                    {});
  EXPECT_LT(topology->hops(0, 1), topology->hops(0, 2));
  EXPECT_LT(topology->hops(0, 2), topology->hops(0, 3));
}

std::vector<int> shape_of(const std::map<std::string, const char*>& environment) {
  return scheduler_shape([&](const char* variable) {
    const auto found = environment.find(variable);
    return found == environment.end() ? nullptr : found->second;
  });
}

TEST(Scheduler, fujitsus_tells_the_lengths_of_a_jobs_block_of_nodes) {
  EXPECT_EQ(shape_of({{"PJM_NODE_X", "4"}, {"PJM_NODE_Y", "3"}, {"PJM_NODE_Z", "2"}}), (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(shape_of({{"PJM_NODE_X", "4"}, {"PJM_NODE_Y", "3"}}), (std::vector<int>{3, 4}));
  EXPECT_EQ(shape_of({{"PJM_NODE_X", "4"}, {"PJM_NODE_Y", "3"}, {"PJM_MPI_SHAPE_X", "2"}, {"PJM_MPI_SHAPE_Y", "2"}}),
            (std::vector<int>{2, 2}));
  for (const char* wrong : {"", "0", "-1", "4x", "99999999999"})
    EXPECT_TRUE(shape_of({{"PJM_NODE_X", wrong}, {"PJM_NODE_Y", "3"}}).empty()) << wrong;
  EXPECT_TRUE(shape_of({{"PJM_NODE_X", "12"}}).empty()) << "a row of nodes may lie anywhere";
  EXPECT_TRUE(shape_of({}).empty());
}

TEST(JoinedNodes, a_block_of_a_torus_is_a_mesh_when_all_its_nodes_are_there) {
  std::vector<NodeFacts> nodes;
  for (int k = 0; k < 6; ++k) {
    nodes.push_back(facts_of("n" + std::to_string(k)));
    nodes.back().job_shape = {2, 3};
  }
  const Machine machine = machine_of(nodes, 1);
  EXPECT_EQ(machine.topology->kind(), "mesh");
  EXPECT_EQ(machine.topology->hops(0, 5), 3);
  EXPECT_EQ(machine.origins.topology.origin, Origin::system);
  nodes.pop_back();
  EXPECT_EQ(machine_of(nodes, 1).topology->kind(), "flat");
  nodes.push_back(facts_of("other"));
  nodes.back().job_shape = {3, 2};
  EXPECT_EQ(machine_of(nodes, 1).topology->kind(), "flat");
}

TEST(Scheduler, nodes_below_one_leaf_are_nearer) {
  const auto parents = joined_parents({{"top", "a"}, {"top", "b"}, {"top", "a"}});
  EXPECT_EQ(parents, (std::vector<int>{4, 5, 4, -1, 3, 3}));
  const auto topology = topology_of(3, parents, {});
  EXPECT_EQ(topology->kind(), "tree");
  EXPECT_EQ(topology->hops(0, 2), 2);
  EXPECT_EQ(topology->hops(0, 1), 4);
}

TEST(Scheduler, switches_above_all_nodes_are_left_out) {
  EXPECT_EQ(joined_parents({{"core", "row", "a"}, {"core", "row", "a"}}), (std::vector<int>{2, 2, -1}));
  EXPECT_EQ(topology_of(2, joined_parents({{"core", "a"}, {"core", "a"}}), {})->kind(), "flat");
}

TEST(Scheduler, leaves_of_the_same_name_below_different_switches_are_different) {
  const auto topology = topology_of(2, joined_parents({{"x", "leaf"}, {"y", "leaf"}}), {});
  EXPECT_EQ(topology->hops(0, 1), 6);
}

TEST(Scheduler, one_node_without_switches_makes_all_equally_far) {
  EXPECT_TRUE(joined_parents({{"top", "a"}, {}}).empty());
  EXPECT_TRUE(joined_parents({}).empty());
}

TEST(JoinedNodes, one_node_is_a_machine) {
  const Machine machine = machine_of({facts_of("a")}, 4);
  EXPECT_EQ(machine.nodes(), 1);
  EXPECT_EQ(machine.ranks_per_node, 4);
  EXPECT_EQ(machine.name, "a");
  ASSERT_EQ(machine.banks.size(), 1u);
  EXPECT_EQ(machine.banks[0].capacity.value, 64e9);
  EXPECT_EQ(machine.storage.write.origin, Origin::assumed);
}

TEST(JoinedNodes, the_smallest_memory_counts_and_what_one_lacks_is_left_out) {
  NodeFacts first = facts_of("a"), second = facts_of("b", 32e9);
  first.numa.push_back({1, "hbm", {16e9, Origin::system, ""}, {}, {}, {}});
  first.networks[0].bandwidth = {1e9, Origin::system, ""};
  second.networks[0].bandwidth = {5e8, Origin::system, "slow"};
  const Machine machine = machine_of({first, second}, 1);
  EXPECT_EQ(machine.nodes(), 2);
  EXPECT_EQ(machine.topology->kind(), "flat");
  ASSERT_EQ(machine.banks.size(), 1u);
  EXPECT_EQ(machine.banks[0].kind, "dram");
  EXPECT_EQ(machine.banks[0].capacity.value, 32e9);
  EXPECT_EQ(machine.topology->classes()[0].bandwidth, (Bandwidth{5e8, Origin::system, "slow"}));
  EXPECT_EQ(machine.topology->classes()[0].latency.origin, Origin::assumed);
}

TEST(JoinedNodes, pretended_nodes_share_the_memory_of_the_real_one) {
  const JoinedNodes joined = join({facts_of("a"), facts_of("a"), facts_of("a"), facts_of("a")});
  EXPECT_EQ(joined.nodes, 4);
  EXPECT_EQ(joined.systems, 1);
  const Machine machine = machine_of(joined, 2);
  EXPECT_EQ(machine.banks[0].capacity.value, 16e9);
  EXPECT_EQ(machine.banks[0].capacity.note, "one of 4 nodes that share it");
  EXPECT_NE(machine.about.find("pretended"), std::string::npos);
}

TEST(JoinedNodes, the_scheduler_makes_a_tree_of_them) {
  std::vector<NodeFacts> nodes{facts_of("a"), facts_of("b"), facts_of("c"), facts_of("d")};
  for (std::size_t k = 0; k < nodes.size(); ++k) nodes[k].switches = {"top", k < 2 ? "left" : "right"};
  const Machine machine = machine_of(nodes, 1);
  EXPECT_EQ(machine.topology->kind(), "tree");
  EXPECT_LT(machine.topology->hops(0, 1), machine.topology->hops(1, 2));
}

TEST(JoinedNodes, travel_unchanged) {
  std::vector<NodeFacts> nodes{facts_of("a"), facts_of("b")};
  nodes[0].switches = {"top", "left"};
  nodes[1].switches = {"top", "right"};
  const JoinedNodes joined = join(nodes);
  Writer writer;
  store(writer, joined);
  Reader reader{writer.data()};
  EXPECT_EQ(load_joined_nodes(reader), joined);
  EXPECT_TRUE(reader.ok() && reader.at_end());
}

}  // namespace
}  // namespace weir

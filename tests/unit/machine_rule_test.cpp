#include <gtest/gtest.h>

#include "machine/short_text.hpp"
#include "model/machine_rule.hpp"
#include "model/problem.hpp"
#include "plan/plan.hpp"

namespace weir {
namespace {

Machine cluster(const std::string& storage) {
  return parse_short_text("torus 4x4 link 2GBps latency 2us gateway every 8 bridges 1 bridge 2GBps gateway 2GBps "
                          "bank dram 16GB 20GBps 90ns storage " + storage).value();
}

Demand demand(const NodeMap& nodes, std::uint64_t bytes, std::uint64_t pieces) {
  Demand made;
  made.bytes = bytes;
  made.pieces = pieces;
  made.busiest_rank_pieces = pieces / static_cast<std::uint64_t>(nodes.ranks());
  made.nodes = &nodes;
  made.storage.file_system = "gpfs";
  made.storage.local = false;
  return made;
}

TEST(MachineRule, aggregates_many_small_pieces_and_leaves_few_large_ones_alone) {
  const Machine machine = cluster("gpfs 10GBps 1ms");
  const NodeMap nodes = NodeMap::blocks(64, 4);
  const MachineRule rule{machine};
  EXPECT_EQ(rule.place(demand(nodes, 64 << 20, 1 << 20), {}).mode, Mode::aggregate);
  EXPECT_EQ(rule.place(demand(nodes, std::uint64_t{1} << 34, 64), {}).mode, Mode::direct);
}

TEST(MachineRule, does_not_take_calls_for_free_where_their_latency_is_unknown) {
  const Machine machine =
      parse_short_text("torus 2x2x2 link 25MBps gateway every 4 bridges 1 bridge 25MBps storage cephfs 50MBps").value();
  const NodeMap nodes = NodeMap::blocks(16, 2);
  EXPECT_EQ(MachineRule{machine}.place(demand(nodes, 16 << 20, 1 << 14), {}).mode, Mode::aggregate);
}

TEST(MachineRule, aggregates_where_the_storage_takes_call_after_call) {
  Machine machine =
      parse_short_text("torus 2x2x2 link 6MBps gateway every 4 bridges 1 bridge 6MBps storage cephfs 12MBps 10us").value();
  const NodeMap nodes = NodeMap::blocks(16, 2);
  const Demand small = demand(nodes, 600'000, 144), large = demand(nodes, 15'000'000, 144);
  const double alone = direct_s(machine, small), much_alone = direct_s(machine, large);
  machine.storage.call = {1e-3, Origin::assumed, ""};
  EXPECT_NEAR(direct_s(machine, small), 0.144 + 9 * 10e-6, 1e-9);
  EXPECT_GT(direct_s(machine, small), alone);
  EXPECT_EQ(direct_s(machine, large), much_alone);  // its bytes take longer than its calls
  EXPECT_EQ(MachineRule{machine}.place(small, {}).mode, Mode::aggregate);
}

TEST(MachineRule, takes_more_aggregators_or_larger_buffers_for_more_data) {
  const Machine machine = cluster("gpfs 10GBps 1ms");
  const NodeMap nodes = NodeMap::blocks(64, 4);
  PlanLimits limits;
  limits.mode = PlanLimits::Prefer::aggregate;
  std::size_t before = 0;
  std::uint64_t first = 0, last = 0;
  for (const std::uint64_t mib : {1, 16, 256, 4096, 65536}) {
    const Placement placement = MachineRule{machine}.place(demand(nodes, mib << 20, 1 << 20), limits);
    const std::uint64_t room = placement.aggregators.size() * placement.buffer_size;
    EXPECT_GE(room, before) << mib << " MiB";
    before = room;
    (first == 0 ? first : last) = room;
  }
  EXPECT_GT(last, first);
}

TEST(MachineRule, keeps_what_the_user_fixed) {
  const Machine machine = cluster("gpfs 10GBps 1ms");
  const NodeMap nodes = NodeMap::blocks(64, 4);
  PlanLimits limits;
  limits.aggregators = 5;
  limits.buffer_size = 12345;
  limits.mode = PlanLimits::Prefer::aggregate;
  const Placement placement = MachineRule{machine}.place(demand(nodes, std::uint64_t{1} << 30, 64), limits);
  EXPECT_EQ(placement.mode, Mode::aggregate);
  EXPECT_EQ(placement.aggregators.size(), 5u);
  EXPECT_EQ(placement.buffer_size, 12345u);
}

TEST(MachineRule, stays_within_the_memory_it_is_given) {
  const Machine machine = cluster("gpfs 10GBps 1ms");
  const NodeMap nodes = NodeMap::blocks(64, 4);
  for (const std::uint64_t memory : {1000ul, 100'000ul, 3ul << 20}) {
    PlanLimits limits;
    limits.memory = memory;
    limits.mode = PlanLimits::Prefer::aggregate;
    const Placement placement = MachineRule{machine}.place(demand(nodes, std::uint64_t{1} << 30, 1 << 20), limits);
    EXPECT_LE(placement.buffer_size * placement.buffers, memory);
  }
}

TEST(MachineRule, is_the_rule_of_thumb_on_one_node) {
  const Machine machine = parse_short_text("flat 1 storage ext4 1GBps 10us").value();
  const NodeMap nodes = NodeMap::blocks(4, 4);
  Demand same = demand(nodes, 1 << 20, 1 << 10);
  EXPECT_EQ(MachineRule{machine}.place(same, {}).why, SimpleRule{}.place(same, {}).why);
}

Machine with_servers(const std::string& bank) {
  return parse_short_text("torus 4x4 link 100MBps latency 5ms bank dram 16GB 20GBps 90ns bank far remote " + bank +
                          " storage gpfs 10GBps 1ms").value();
}

TEST(MachineRule, goes_through_memory_servers_where_they_are_faster_and_says_what_each_way_costs) {
  const NodeMap nodes = NodeMap::blocks(64, 4);
  const Demand demanded = demand(nodes, 256 << 20, 1 << 20);
  PlanLimits limits;
  limits.remote = PlanLimits::Remote::may;
  limits.memory = 128 << 10;  // many rounds, in each of which messages cross the network
  const Machine fast = with_servers("4GB 500GBps 1us"), slow = with_servers("4GB 1MBps 3us");
  const Placement through = MachineRule{fast}.place(demanded, limits);
  EXPECT_TRUE(through.remote) << through.why;
  for (const char* part : {"aggregate in three phases: every rank for itself would take", "aggregator",
                           "in three phases through bank 'far'", "the fastest one"})
    EXPECT_NE(through.why.find(part), std::string::npos) << part << " in: " << through.why;
  EXPECT_FALSE(MachineRule{slow}.place(demanded, limits).remote);
  limits.remote = PlanLimits::Remote::no;
  EXPECT_FALSE(MachineRule{fast}.place(demanded, limits).remote);
  EXPECT_EQ(MachineRule{fast}.place(demanded, limits).why.find("three phases"), std::string::npos);
  limits.remote = PlanLimits::Remote::must;
  EXPECT_TRUE(MachineRule{slow}.place(demanded, limits).remote);
}

TEST(MachineRule, does_not_go_through_memory_servers_that_are_too_small_or_not_measured) {
  const NodeMap nodes = NodeMap::blocks(64, 4);
  PlanLimits limits;
  limits.remote = PlanLimits::Remote::may;
  const Placement small = MachineRule{with_servers("1MB 5GBps 3us")}.place(demand(nodes, 256 << 20, 1 << 20), limits);
  EXPECT_FALSE(small.remote);
  EXPECT_NE(small.why.find("is out (holds 16 MB, 268"), std::string::npos) << small.why;
  const Placement unknown = MachineRule{with_servers("4GB")}.place(demand(nodes, 256 << 20, 1 << 20), limits);
  EXPECT_FALSE(unknown.remote);
  EXPECT_NE(unknown.why.find("weir machine --calibrate"), std::string::npos) << unknown.why;
}

TEST(MachineRule, also_compares_on_one_node_where_the_rule_of_thumb_aggregates) {
  const Machine machine =
      parse_short_text("flat 1 bank dram 16GB 1GBps 90ns bank remote 4GB 50GBps 1us storage ext4 10GBps 10us").value();
  const NodeMap nodes = NodeMap::blocks(4, 4);
  PlanLimits limits;
  limits.remote = PlanLimits::Remote::may;
  Demand many = demand(nodes, 64 << 20, 1 << 16), few = demand(nodes, 64 << 20, 4);
  many.storage.local = few.storage.local = true;
  const Placement placement = MachineRule{machine}.place(many, limits);
  EXPECT_NE(placement.why.find("in three phases through bank 'remote'"), std::string::npos) << placement.why;
  EXPECT_EQ(MachineRule{machine}.place(few, limits).mode, Mode::direct);
}

TEST(PlacementConditions, keep_buffers_out_of_memory_of_other_nodes) {
  const Machine machine = with_servers("4GB 500GBps 3us");
  PlacementProblem problem;
  problem.machine = &machine;
  problem.buffer_bytes = 1e6;
  EXPECT_EQ(problem.fitting_banks(1e6), std::vector<int>{0});
  EXPECT_EQ(machine.server_bank(), &machine.banks[1]);
  EXPECT_EQ(machine.banks[1].scope, Scope::network);
}

/// Variables one after another, each with a block of every one of 16 ranks on 8 nodes: all nodes give to all of the file.
Layout lay_out_blocks(const Machine& machine, std::uint64_t variables, std::uint64_t block, const StorageTraits& storage) {
  const NodeMap nodes = NodeMap::blocks(16, 2);
  std::vector<Footprint> footprints;
  for (std::uint64_t rank = 0; rank < 16; ++rank) {
    Declaration declaration;
    for (std::uint64_t v = 0; v < variables; ++v) declaration.variable(Run{(v * 16 + rank) * block, block});
    footprints.push_back(Footprint::of(RankDeclaration::of(declaration).value(), footprint_limit(16)));
  }
  const MachineRule rule{machine};
  PlanRequest request;
  request.nodes = &nodes;
  request.storage = storage;
  request.model = &rule;
  request.machine = &machine;
  return plan_layout(footprints, {}, request).value();
}

TEST(MachineRule, is_overruled_where_the_traffic_of_the_step_makes_aggregation_the_slower_way) {
  const Machine machine = parse_short_text("torus 2x2x2 link 25MBps latency 50us gateway every 8 bridges at 0,7 bridge "
                                           "25MBps storage cephfs 50MBps 2ms").value();
  StorageTraits ceph{.kind = "posix", .file_system = "fuse", .stripe = 256 << 10, .local = false};
  const Layout large = lay_out_blocks(machine, 9, 100'000, ceph);
  EXPECT_EQ(large.placement.mode, Mode::direct);
  EXPECT_NE(large.placement.why.find("with the traffic of this step"), std::string::npos) << large.placement.why;
  EXPECT_EQ(lay_out_blocks(machine, 9, 4'000, ceph).placement.mode, Mode::aggregate) << "calls cost more";
  ceph.file_system = "lustre";
  EXPECT_EQ(lay_out_blocks(machine, 9, 100'000, ceph).placement.mode, Mode::aggregate) << "blocks are locked";
}

}  // namespace
}  // namespace weir

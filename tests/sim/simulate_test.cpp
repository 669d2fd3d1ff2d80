#include "simulate.hpp"

#include <gtest/gtest.h>

#include "machine/stored.hpp"
#include "planned_job.hpp"
#include "timing.hpp"
#include "worker_process.hpp"

namespace weir::sim {
namespace {

#define NEEDS_SIMGRID() \
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid"

constexpr std::uint64_t gigabyte = 1'000'000'000;
constexpr Endpoint source{Endpoint::Kind::node, 0}, target{Endpoint::Kind::storage, 0},
    middle{Endpoint::Kind::device, 0};

Machine small_machine() {
  return find_machine(
             "torus 4x4 link 2GBps latency 1us gateway every 8 bridges at 1,6 bridge 2GBps 5us gateway 3GBps ranks 2 "
             "bank dram 16GB 20GBps 100ns storage gpfs 5GBps 1ms")
      .value();
}

PlannedJob small_plan(const Machine& machine, Strategy strategy, int buffers) {
  const Job job{.machine = &machine,
                .nodes = 16,
                .ranks_per_node = 2,
                .workload = "hacc",
                .parameters = {{"particles", "20000"}}};
  return plan_job(job, limits_of(4, buffers, 1 << 20), rules_of(strategy));
}

TEST(Simulate, one_flow_takes_its_bytes_over_the_bandwidth_of_its_slowest_link) {
  NEEDS_SIMGRID();
  const Machine machine = small_machine();
  Schedule schedule{machine};
  const int way = schedule.way(source, target, {schedule.add_resource(2e9), schedule.add_resource(1e9)}, 0.25);
  schedule.transfer(way, gigabyte, {});
  EXPECT_NEAR(simulate(schedule).end_s, 1.25, 1e-6);
}

TEST(Simulate, two_flows_share_a_link_and_the_longer_one_then_has_it_alone) {
  NEEDS_SIMGRID();
  const Machine machine = small_machine();
  Schedule schedule{machine};
  const int link = schedule.add_resource(1e9);
  schedule.transfer(schedule.way(source, target, {link}, 0), gigabyte, {});
  schedule.transfer(schedule.way(middle, target, {link}, 0), 2 * gigabyte, {});
  const Outcome outcome = simulate(schedule);
  EXPECT_NEAR(outcome.ends_s[0], 2, 1e-6);
  EXPECT_NEAR(outcome.ends_s[1], 3, 1e-6);
  EXPECT_EQ(outcome.carried.at(link), 3 * gigabyte);
}

TEST(Simulate, with_two_buffers_the_slower_phase_hides_the_faster_one) {
  NEEDS_SIMGRID();
  const Machine machine = small_machine();
  constexpr int rounds = 5;
  const auto pipeline = [&](std::size_t buffers) {
    Schedule schedule{machine};
    const int fill = schedule.way(source, middle, {schedule.add_resource(1e9)}, 0);
    const int empty = schedule.way(middle, target, {schedule.add_resource(0.5e9)}, 0);
    std::vector<int> stores;
    int filled = -1;
    for (std::size_t round = 0; round < rounds; ++round) {
      std::vector<int> after;
      if (filled >= 0) after.push_back(filled);
      if (round >= buffers) after.push_back(stores[round - buffers]);
      filled = schedule.transfer(fill, gigabyte, after);
      stores.push_back(schedule.transfer(empty, gigabyte,
                                         stores.empty() ? std::vector{filled} : std::vector{filled, stores.back()}));
    }
    return simulate(schedule).end_s;
  };
  EXPECT_NEAR(pipeline(1), rounds * 3, 1e-6);
  EXPECT_NEAR(pipeline(2), 1 + rounds * 2, 1e-6);
}

TEST(Simulate, a_step_without_bytes_only_waits_and_joins) {
  NEEDS_SIMGRID();
  const Machine machine = small_machine();
  Schedule schedule{machine};
  const int first = schedule.wait(1, {}), second = schedule.wait(2, {});
  schedule.wait(0.5, {first, second});
  EXPECT_NEAR(simulate(schedule).end_s, 2.5, 1e-6);
}

TEST(Simulate, links_carry_exactly_the_bytes_that_the_plan_says) {
  NEEDS_SIMGRID();
  const Machine machine = small_machine();
  for (const Strategy strategy : {Strategy::greedy, Strategy::tapioca, Strategy::contention}) {
    const PlannedJob job = small_plan(machine, strategy, 2);
    std::map<int, std::uint64_t> expected;
    std::vector<int> path;
    const auto load = [&](std::uint64_t bytes) {
      for (const int resource : path) expected[resource] += bytes;
      path.clear();
    };
    std::uint64_t declared = 0;
    for (const Domain& domain : job.layout.domains)
      for (std::uint32_t w = domain.first_window; w < domain.first_window + domain.windows; ++w) {
        for (const auto& [node, bytes] : job.shares.windows[w]) {
          route_gather(machine, node, job.place(domain), path);
          load(bytes);
          declared += bytes;
        }
        route_store(machine, job.place(domain), path);
        load(job.window_bytes(w));
      }
    EXPECT_EQ(declared, 32U * 20000 * 38);
    Schedule schedule{machine};
    schedule_plan(schedule, job);
    EXPECT_EQ(schedule.bytes_by_resource(), expected);
    EXPECT_EQ(simulate(schedule).carried, expected);
  }
}

// Where everything starts at once, SimGrid's solver and ours answer the same question. Ours adds latency at the end.
TEST(Simulate, agrees_with_our_own_fair_sharing_within_one_percent) {
  NEEDS_SIMGRID();
  const Machine machine = small_machine();
  for (const Strategy strategy : {Strategy::greedy, Strategy::longest_path, Strategy::contention}) {
    const PlannedJob job = small_plan(machine, strategy, 2);
    Schedule schedule{machine};
    std::vector<Flow> flows;
    for (const Domain& domain : job.layout.domains) {
      std::map<int, std::uint64_t> by_node;
      for (std::uint32_t w = domain.first_window; w < domain.first_window + domain.windows; ++w)
        for (const auto& [node, bytes] : job.shares.windows[w]) by_node[node] += 1000 * bytes;
      for (const auto& [node, bytes] : by_node) {
        const int way = schedule.gather_way(node, job.place(domain));
        schedule.transfer(way, bytes, {});
        const Way& told = schedule.ways()[static_cast<std::size_t>(way)];
        flows.push_back({told.resources, static_cast<double>(bytes), told.latency_s});
      }
    }
    std::vector<const Flow*> all;
    for (const Flow& flow : flows) all.push_back(&flow);
    const double ours = shared_finish_s(machine, all);
    EXPECT_NEAR(simulate(schedule).end_s / ours, 1, 0.01);
  }
}

TEST(Simulate, more_buffers_are_never_slower_and_take_the_same_links) {
  NEEDS_SIMGRID();
  const Machine machine = small_machine();
  Schedule one{machine}, three{machine};
  schedule_plan(one, small_plan(machine, Strategy::tapioca, 1));
  schedule_plan(three, small_plan(machine, Strategy::tapioca, 3));
  EXPECT_EQ(one.bytes_by_resource(), three.bytes_by_resource());
  EXPECT_LE(simulate(three).end_s, simulate(one).end_s * 1.001);
}

}  // namespace
}  // namespace weir::sim

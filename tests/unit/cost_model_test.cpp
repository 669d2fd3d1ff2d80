#include <gtest/gtest.h>

#include <fmt/format.h>

#include "machine/graph.hpp"
#include "model/election.hpp"

namespace weir {
namespace {

Bank bank(std::string name, double capacity_gb, double latency_ms, double gb_per_s, Persistency persistency) {
  Bank made;
  made.name = made.kind = std::move(name);
  made.capacity.value = capacity_gb * 1e9;
  made.latency.value = latency_ms * 1e-3;
  made.read.value = made.write.value = gb_per_s * 1e9;
  made.persistency = persistency;
  return made;
}

/// MA-TAPIOCA, tables 1 and 2; the hops are chosen so that their sums are those behind the tables.
Machine toy() {
  Machine machine;
  LinkClass network{"network", {}, {}};
  network.bandwidth.value = 12.5e9;
  network.latency.value = 0.030;
  machine.topology = std::make_shared<TableTopology>(
      std::vector<std::vector<int>>{{0, 2, 5, 1}, {2, 0, 2, 1}, {5, 2, 0, 4}, {1, 1, 4, 0}}, network);
  machine.io.hops = {11, 10, 13, 10};
  machine.banks = {bank("hbm", 16, 10, 180, Persistency::none), bank("dram", 192, 20, 90, Persistency::none),
                   bank("nvr", 128, 100, 0.15, Persistency::job)};
  return machine;
}

PlacementProblem toy_problem(const Machine& machine) {
  PlacementProblem problem;
  problem.machine = &machine;
  problem.traffic = traffic_in_order(std::vector<double>{10e6, 50e6, 20e6, 5e6}, 1);
  problem.buffers = 3;
  problem.buffer_bytes = 16e6;
  return problem;
}

TEST(MaTapioca, gives_the_papers_table) {
  const Machine machine = toy();
  const PlacementProblem problem = toy_problem(machine);
  const double hbm[] = {0.593, 0.470, 0.742, 0.503}, dram[] = {0.603, 0.480, 0.752, 0.513};
  const double nvr[] = {2.350, 2.020, 2.710, 2.120};
  for (int process = 0; process < 4; ++process) {
    const MaTapiocaModel model;
    EXPECT_NEAR(model.cost(problem, 0, {process, 0}), hbm[process], 0.001);
    EXPECT_NEAR(model.cost(problem, 0, {process, 1}), dram[process], 0.001);
    EXPECT_NEAR(model.cost(problem, 0, {process, 2}), nvr[process], nvr[process] * 0.01);
  }
}

TEST(MaTapioca, chooses_the_high_bandwidth_memory_of_process_1) {
  const Machine machine = toy();
  auto election = elect(toy_problem(machine), Strategy::ma_tapioca);
  ASSERT_TRUE(election) << election.status().message();
  EXPECT_EQ(election->places, (Places{{1, 0}}));
  EXPECT_EQ(election->candidates.size(), 12u);
}

TEST(MaTapioca, falls_to_the_next_bank_when_one_is_too_small) {
  Machine machine = toy();
  machine.banks[0].capacity.value = 32e6;
  EXPECT_EQ(elect(toy_problem(machine), Strategy::ma_tapioca)->places, (Places{{1, 1}}));
  machine.banks[1].capacity.value = 32e6;
  EXPECT_EQ(elect(toy_problem(machine), Strategy::ma_tapioca)->places, (Places{{1, 2}}));
  machine.banks[2].capacity.value = 32e6;
  auto none = elect(toy_problem(machine), Strategy::ma_tapioca);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.status().code(), Code::no_memory);
  EXPECT_NE(none.status().message().find("hbm: holds 32 MB, 48 MB are needed"), std::string::npos)
      << none.status().message();
}

TEST(MaTapioca, obeys_what_is_required_of_the_bank) {
  const Machine machine = toy();
  PlacementProblem problem = toy_problem(machine);
  problem.persistency = Persistency::job;
  EXPECT_EQ(elect(problem, Strategy::ma_tapioca)->places, (Places{{1, 2}}));
  problem.persistency = Persistency::permanent;
  EXPECT_FALSE(elect(problem, Strategy::ma_tapioca));
  problem.persistency = Persistency::none;
  problem.bank = "dram";
  EXPECT_EQ(elect(problem, Strategy::ma_tapioca)->places, (Places{{1, 1}}));
}

TEST(MaTapioca, wants_room_for_everything_that_has_to_stay) {
  Machine machine = toy();
  machine.banks[0].capacity.value = 60e6;  // for the buffers, not for 85 MB
  PlacementProblem problem = toy_problem(machine);
  EXPECT_EQ(elect(problem, Strategy::ma_tapioca)->places, (Places{{1, 0}}));
  problem.stays = true;
  EXPECT_EQ(elect(problem, Strategy::ma_tapioca)->places, (Places{{1, 1}}));
}

TEST(Tapioca, adds_the_slowest_producer_and_the_way_to_storage) {
  const Machine machine = toy();
  const PlacementProblem problem = toy_problem(machine);
  // Process 1: the slowest producer is process 0 or 2, two hops away, with 20 MB; then 10 hops with 85 MB over 4.
  EXPECT_NEAR(TapiocaModel{}.cost(problem, 0, {1, 0}), 0.03 * 2 + 20e6 / 12.5e9 + 0.03 * 10 + 85e6 / (4 * 12.5e9), 1e-9);
}

TEST(Traffic, is_cut_into_equal_domains_and_loses_nothing) {
  const std::vector<double> bytes{5, 0, 7, 1, 9, 2};
  for (int domains = 1; domains <= 7; ++domains) {
    double total = 0;
    for (const DomainTraffic& domain : traffic_in_order(bytes, domains)) {
      EXPECT_NEAR(domain.bytes, 24.0 / domains, 1e-6);
      total += domain.bytes;
      double parts = 0;
      for (const Share& share : domain.producers) parts += share.bytes;
      EXPECT_NEAR(parts, domain.bytes, 1e-9);
    }
    EXPECT_NEAR(total, 24, 1e-9);
    for (const DomainTraffic& domain : traffic_spread(bytes, domains)) EXPECT_EQ(domain.producers.size(), 5u);
  }
}

}  // namespace
}  // namespace weir

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>

#include "machine/dragonfly.hpp"
#include "machine/graph.hpp"
#include "machine/torus.hpp"
#include "machine/tree.hpp"
#include "model/election.hpp"
#include "cases.hpp"
#include "unit/fair_sharing_reference.hpp"

namespace weir {
namespace {

using Random = std::mt19937_64;

using testing::cases;

int pick(Random& random, int least, int most) { return std::uniform_int_distribution{least, most}(random); }

LinkClass link(std::string name, double gb_per_s) {
  LinkClass made{std::move(name), {}, {}};
  made.bandwidth.value = gb_per_s * 1e9;
  made.latency.value = 1e-6;
  return made;
}

TopologyPtr random_topology(Random& random, int most) {
  const auto rate = [&] { return 0.5 * pick(random, 1, 20); };
  switch (pick(random, 0, 4)) {
    case 0: return std::make_shared<TorusTopology>(std::vector{pick(random, 2, most), pick(random, 1, 3), 2}, true, link("link", rate()));
    case 1: return std::make_shared<TorusTopology>(std::vector{pick(random, 2, most), pick(random, 2, 4)}, false, link("link", rate()));
    case 2:
      return std::make_shared<DragonflyTopology>(
          DragonflyTopology::Shape{pick(random, 2, 3), 1, pick(random, 1, std::max(2, most / 2)), 2, pick(random, 1, 2)},
          link("node", rate()), link("row", rate()), link("column", rate()), link("global", rate()));
    case 3:
      return std::make_shared<FatTreeTopology>(std::vector{pick(random, 2, 4), pick(random, 2, std::max(2, most / 2))},
                                               std::vector{link("node", rate()), link("up", rate())});
    default: {
      const int nodes = pick(random, 4, 2 * most);
      std::vector<GraphTopology::Edge> edges;
      for (int v = 1; v < nodes; ++v) edges.push_back({pick(random, 0, v - 1), v, pick(random, 0, 1)});
      for (int extra = 0; extra < nodes / 2; ++extra) {
        const int a = pick(random, 0, nodes - 1), b = pick(random, 0, nodes - 1);
        if (a != b) edges.push_back({a, b, 0});
      }
      return std::make_shared<GraphTopology>(nodes, 0, edges, std::vector{link("thin", rate()), link("thick", rate())});
    }
  }
}

Machine machine_at_random(Random& random, int most) {
  Machine machine;
  machine.topology = random_topology(random, most);
  const int nodes = machine.nodes();
  machine.io.group = pick(random, 0, 1) ? std::max(1, nodes / pick(random, 1, 3)) : 0;
  for (int k = pick(random, 0, 2); k > 0; --k) machine.io.bridges.push_back(pick(random, 0, machine.group_size() - 1));
  machine.io.bridge_bandwidth.value = 0.5e9 * pick(random, 1, 10);
  machine.io.gateway_bandwidth.value = 0.5e9 * pick(random, 1, 10);
  machine.storage.write.value = 1e9 * pick(random, 1, 50);
  return machine;
}

PlacementProblem random_problem(Random& random, const Machine& machine, int most_domains) {
  PlacementProblem problem;
  problem.machine = &machine;
  std::vector<double> bytes(static_cast<std::size_t>(machine.nodes()));
  for (double& each : bytes) each = pick(random, 0, 3) ? 1e6 * pick(random, 1, 200) : 0;
  bytes[0] += 1e6;
  const int domains = pick(random, 1, std::min(most_domains, machine.nodes()));
  problem.traffic = pick(random, 0, 1) ? traffic_in_order(bytes, domains) : traffic_spread(bytes, domains);
  problem.buffers = pick(random, 1, 3);
  problem.buffer_bytes = 1e6 * pick(random, 1, 64);
  problem.reads = problem.buffers == 2;
  return problem;
}

double reference_total_s(const PlacementProblem& problem, const Places& places) {
  const FlowSet set = FlowSet::of(problem, places);
  std::vector<Flow> both = set.gather;
  both.insert(both.end(), set.store.begin(), set.store.end());
  const double gather = reference_finish_s(*problem.machine, set.gather);
  const double store = reference_finish_s(*problem.machine, set.store);
  if (problem.buffers < 2) return gather + store;
  double most = 0;
  for (const DomainTraffic& domain : problem.traffic) most = std::max(most, domain.bytes);
  const double rounds = std::max(1.0, std::ceil(most / problem.buffer_bytes));
  return std::max({reference_finish_s(*problem.machine, both), gather, store}) + std::min(gather, store) / rounds;
}

TEST(Flows, of_reading_take_the_ways_from_the_storage_to_the_ranks) {
  Machine machine;
  machine.topology = std::make_shared<TorusTopology>(std::vector{2, 2, 2}, true, link("link", 1));
  machine.io.bridges = {7};
  PlacementProblem problem;
  problem.machine = &machine;
  problem.reads = true;
  problem.traffic = {{{{5, 1e6}}, 1e6}};
  const FlowSet flows = FlowSet::of(problem, {{2, 0}});
  std::vector<int> to_rank, from_storage, to_storage;
  machine.topology->route(2, 5, to_rank);
  machine.route_from_storage(2, from_storage);
  machine.route_to_storage(2, to_storage);
  EXPECT_EQ(flows.gather.at(0).resources, to_rank);
  EXPECT_EQ(flows.store.at(0).resources, from_storage);
  EXPECT_FALSE(std::ranges::is_permutation(from_storage, to_storage)) << "the links of one way are not those of the other";
  std::vector<int> from_bridge;
  machine.topology->route(7, 2, from_bridge);
  EXPECT_TRUE(std::ranges::equal(from_bridge, std::span{from_storage}.last(from_bridge.size())));
}

TEST(FairSharing, is_what_its_definition_gives) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random{seed};
    const Machine machine = machine_at_random(random, 6);
    const PlacementProblem problem = random_problem(random, machine, 4);
    const auto places = elect(problem, Strategy::random, Effort::quick, seed).value().places;
    const double expected = reference_total_s(problem, places);
    EXPECT_NEAR(predict_by_sharing(problem, places).total_s, expected, expected * 1e-6);
  }
}

TEST(Contention, is_at_least_as_good_as_every_other_strategy_on_a_hundred_machines) {
  for (std::uint64_t seed = 1; seed <= cases(100); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random{seed};
    const Machine machine = machine_at_random(random, 8);
    const PlacementProblem problem = random_problem(random, machine, 6);
    const double ours = reference_total_s(problem, elect(problem, Strategy::contention, Effort::thorough)->places);
    std::size_t flows = problem.traffic.size();
    for (const DomainTraffic& domain : problem.traffic) flows += domain.producers.size();
    // What a job plans with, in milliseconds: as good where it need not leave anything out.
    const double in_a_hurry =
        flows > 128 ? ours : reference_total_s(problem, elect(problem, Strategy::contention)->places);
    for (const Strategy other : strategies) {
      const double others = reference_total_s(problem, elect(problem, other)->places) * (1 + 1e-6);
      EXPECT_LE(ours, others) << name(other) << " on " << machine.topology->kind() << " of " << machine.nodes();
      EXPECT_LE(in_a_hurry, others) << name(other) << " on " << machine.topology->kind() << " of " << machine.nodes();
    }
  }
}

Machine with_banks(Machine machine, Random& random) {
  for (const char* kind : {"hbm", "dram"}) {
    Bank bank;
    bank.name = bank.kind = kind;
    bank.capacity.value = 1e6 * pick(random, 20, 300);
    bank.read.value = bank.write.value = 1e9 * pick(random, 5, 100);
    machine.banks.push_back(bank);
  }
  return machine;
}

TEST(Election, aggregators_of_one_node_fit_together_into_its_banks) {
  int several = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random{seed};
    const Machine machine = with_banks(machine_at_random(random, 4), random);
    PlacementProblem problem = random_problem(random, machine, 12);
    problem.most_per_node = pick(random, 1, 4);
    for (const Strategy strategy : strategies)
      for (const Effort effort : {Effort::quick, Effort::thorough}) {
        if (effort == Effort::thorough && seed % 6 != 0) continue;
        auto election = elect(problem, strategy, effort);
        if (!election) {
          EXPECT_EQ(election.status().code(), Code::no_memory);
          ++refused;
          continue;
        }
        std::map<std::pair<int, int>, double> used;
        for (const Place& place : election->places) {
          double& here = used[{place.node, place.bank}];
          several += here > 0;
          here += problem.buffers * problem.buffer_bytes;
          EXPECT_LE(here, machine.banks[static_cast<std::size_t>(place.bank)].capacity.value) << name(strategy);
        }
      }
  }
  EXPECT_GT(several, 0);
  EXPECT_GT(refused, 0);
}

TEST(Election, falls_to_the_next_bank_where_a_neighbour_has_taken_the_first) {
  Random random{1};
  Machine machine;
  machine.topology = std::make_shared<FatTreeTopology>(std::vector{1}, std::vector{link("link", 1)});
  machine = with_banks(machine, random);
  machine.banks[0].capacity.value = 40e6;
  machine.banks[0].read.value = machine.banks[0].write.value = 1e12;
  machine.banks[1].capacity.value = 64e6;
  PlacementProblem problem;
  problem.machine = &machine;
  problem.most_per_node = 4;
  problem.buffer_bytes = 16e6;
  const std::vector<double> bytes{1e9};
  problem.traffic = traffic_spread(bytes, 3);
  for (const Strategy strategy : strategies) {
    const Places places = elect(problem, strategy).value().places;
    EXPECT_EQ(std::ranges::count(places, 0, &Place::bank), 1) << name(strategy);
    EXPECT_EQ(std::ranges::count(places, 1, &Place::bank), 2) << name(strategy);
  }
  problem.traffic = traffic_spread(bytes, 4);
  for (const Strategy strategy : strategies) {
    const auto refused = elect(problem, strategy);
    EXPECT_EQ(refused.status().code(), Code::no_memory) << name(strategy);
    EXPECT_NE(refused.status().message().find("have no room for 4 domains"), std::string::npos);
  }
}

TEST(Contention, tells_candidates_with_their_costs_and_the_placements_that_it_compared) {
  Random random{3};
  const Machine machine = with_banks(machine_at_random(random, 8), random);
  PlacementProblem problem = random_problem(random, machine, 4);
  problem.buffer_bytes = 1e6;
  for (const Effort effort : {Effort::quick, Effort::thorough}) {
    const Election election = elect(problem, Strategy::contention, effort).value();
    EXPECT_GE(election.candidates.size(), 3u);
    const auto chosen = std::ranges::find(election.candidates, election.places.front(), &Candidate::place);
    ASSERT_NE(chosen, election.candidates.end());
    for (const Candidate& candidate : election.candidates) EXPECT_GT(candidate.cost_s, 0);
    ASSERT_GE(election.rivals.size(), 3u);
    EXPECT_LE(chosen->cost_s, election.rivals[1].seconds * (1 + 1e-9));
    EXPECT_LE(election.rivals[0].seconds, election.rivals.back().seconds);
  }
}

TEST(Contention, is_within_5_percent_of_the_best_of_all_placements_on_small_machines) {
  for (std::uint64_t seed = 1; seed <= cases(60); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random{seed};
    const Machine machine = machine_at_random(random, 4);
    const PlacementProblem problem = random_problem(random, machine, 3);
    const std::size_t domains = problem.traffic.size();
    double best = std::numeric_limits<double>::infinity();
    Places places(domains, Place{0, 0});
    const auto every = [&](const auto& self, std::size_t d) -> void {
      if (d == domains) {
        best = std::min(best, predict_by_sharing(problem, places).total_s);
        return;
      }
      for (int node = 0; node < machine.nodes(); ++node) {
        if (std::count(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(d), Place{node, 0}) > 0) continue;
        places[d].node = node;
        self(self, d + 1);
      }
    };
    every(every, 0);
    const double ours = reference_total_s(problem, elect(problem, Strategy::contention, Effort::thorough)->places);
    EXPECT_LE(ours, best * 1.05) << machine.topology->kind() << " of " << machine.nodes() << ", " << domains << " domains";
  }
}

TEST(Contention, never_puts_more_domains_on_a_node_than_allowed) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random{seed};
    const Machine machine = machine_at_random(random, 12);
    const PlacementProblem problem = random_problem(random, machine, 12);
    for (const Strategy strategy : strategies) {
      const Places places = elect(problem, strategy).value().places;
      EXPECT_EQ(places.size(), problem.traffic.size());
      for (const Place& place : places) {
        EXPECT_GE(place.node, 0);
        EXPECT_LT(place.node, machine.nodes());
        EXPECT_EQ(std::ranges::count(places, place.node, &Place::node), 1) << name(strategy);
      }
    }
  }
}

}  // namespace
}  // namespace weir

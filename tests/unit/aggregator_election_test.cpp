#include "plan/aggregator_election.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "machine/short_text.hpp"
#include "plan/plan.hpp"
#include "cases.hpp"

namespace weir {
namespace {

using Random = std::mt19937_64;
std::uint64_t pick(Random& random, std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>{least, most}(random);
}

/// Few contiguous pieces a rank, in random order in the file, with holes.
struct Job {
  NodeMap nodes;
  std::vector<std::vector<Run>> runs;
  std::vector<Footprint> footprints;

  static Job make(Random& random) {
    Job job;
    const int ranks = static_cast<int>(pick(random, 2, 12));
    job.nodes = NodeMap::blocks(ranks, static_cast<int>(pick(random, 1, 3)));
    job.runs.resize(static_cast<std::size_t>(ranks));
    std::uint64_t at = 0;
    for (int piece = 0; piece < 5 * ranks; ++piece) {
      const std::uint64_t length = pick(random, 1, 50'000);
      job.runs[pick(random, 0, static_cast<std::uint64_t>(ranks) - 1)].push_back({at, length});
      at += length + (pick(random, 0, 1) ? pick(random, 0, 10'000) : 0);
    }
    for (const auto& runs : job.runs) {
      Declaration declaration;
      declaration.variable(runs);
      job.footprints.push_back(Footprint::of(RankDeclaration::of(declaration).value(), 1000));
    }
    return job;
  }

  [[nodiscard]] Layout lay_out(Random& random, const Machine& machine, Strategy strategy) const {
    const SimpleRule rule;
    PlanRequest request;
    request.nodes = &nodes;
    request.model = &rule;
    request.machine = &machine;
    request.rules.strategy = strategy;
    request.limits.mode = PlanLimits::Prefer::aggregate;
    request.limits.aggregators = static_cast<std::uint32_t>(pick(random, 1, static_cast<std::uint64_t>(nodes.nodes())));
    request.limits.buffer_size = pick(random, 1000, 100'000);
    request.limits.alignment = pick(random, 0, 1) ? 512 : 1;
    return plan_layout(footprints, {}, request).value();
  }
};

Machine machine_with(int nodes) {
  return parse_short_text(fmt::format("torus {} link 1GBps latency 1us bank dram 1GB 10GBps 90ns", nodes)).value();
}

TEST(AggregatorElection, sees_what_each_node_gives_to_each_domain) {
  for (std::uint64_t seed = 1; seed <= testing::cases(100); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random{seed};
    const Job job = Job::make(random);
    const Layout layout = job.lay_out(random, machine_with(job.nodes.nodes()), Strategy::greedy);
    std::vector<std::map<int, double>> expected(layout.domains.size());
    for (std::size_t rank = 0; rank < job.runs.size(); ++rank)
      for (const auto& run : job.runs[rank])
        for (std::uint64_t byte = run.offset; byte < run.offset + run.length; ++byte)
          ++expected[layout.domain_of(layout.window_at(layout.to_packed(byte)))][job.nodes.node_of[rank]];
    const Traffic traffic = traffic_of(layout, job.footprints, job.nodes);
    ASSERT_EQ(traffic.size(), expected.size());
    for (std::size_t d = 0; d < traffic.size(); ++d) {
      std::map<int, double> found;
      for (const Share& share : traffic[d].producers) found[share.node] += share.bytes;
      EXPECT_EQ(found.size(), traffic[d].producers.size()) << "a node is there twice";
      for (const auto& [node, bytes] : expected[d]) EXPECT_NEAR(found[node], bytes, 1e-6) << "domain " << d;
    }
  }
}

TEST(AggregatorElection, seats_every_domain_on_another_rank_of_an_elected_node) {
  for (std::uint64_t seed = 1; seed <= testing::cases(100); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random{seed};
    const Job job = Job::make(random);
    const Machine machine = machine_with(job.nodes.nodes() + static_cast<int>(pick(random, 0, 5)));
    for (const Strategy strategy : strategies) {
      Random again = random, once_more = random;
      const Layout layout = job.lay_out(again, machine, strategy);
      std::vector<int> ranks;
      for (const Domain& domain : layout.domains) ranks.push_back(domain.aggregator);
      EXPECT_EQ(ranks, layout.placement.aggregators);
      std::ranges::sort(ranks);
      EXPECT_TRUE(std::ranges::adjacent_find(ranks) == ranks.end()) << name(strategy);
      EXPECT_GE(ranks.front(), 0);
      EXPECT_LT(ranks.back(), job.nodes.ranks());
      EXPECT_EQ(layout.hash, job.lay_out(once_more, machine, strategy).hash) << name(strategy);
      EXPECT_NE(layout.placement.details.find(name(strategy)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace weir

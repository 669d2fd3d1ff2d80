#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "plan/plan.hpp"
#include "cases.hpp"

namespace weir {
namespace {

/// By byte of the file who keeps it: rank, variable, place in memory.
using Owners = std::map<std::uint64_t, std::tuple<std::size_t, std::size_t, std::uint64_t>>;

void add(Owners& owners, std::size_t rank, const RankDeclaration& declaration) {
  for (std::size_t v = 0; v < declaration.variables.size(); ++v)
    declaration.pieces(v).for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
      for (std::uint64_t b = 0; b < length; ++b)
        owners[offset + declaration.variables[v].at + b] = {rank, v, memory + b};
    });
}

std::vector<RankDeclaration> overlapping(std::mt19937_64& random) {
  std::vector<Declaration> ranks(1 + random() % 4);
  const std::uint64_t shapes = 1 + random() % 3, variables = 1 + random() % 5;
  for (Declaration& rank : ranks)
    for (std::uint64_t s = 0; s < shapes; ++s) {
      std::vector<Run> runs;
      for (std::uint64_t i = random() % 5; i > 0; --i)
        runs.push_back({random() % 400, random() % 30, random() % 40, random() % 6});
      rank.decomposition(runs);
    }
  for (std::uint64_t v = 0; v < variables; ++v) {
    const auto shape = static_cast<int>(random() % shapes);
    const std::uint64_t at = random() % 300;
    for (Declaration& rank : ranks) rank.variable(shape, at);
  }
  std::vector<RankDeclaration> result;
  for (const Declaration& rank : ranks) result.push_back(RankDeclaration::of(rank).value());
  return result;
}

TEST(Overlaps, leave_each_byte_to_the_highest_rank_and_its_last_variable) {
  std::mt19937_64 random{21};
  for (std::uint64_t i = 0; i < testing::cases(1000); ++i) {
    const auto ranks = overlapping(random);
    Owners expected, settled;
    std::uint64_t bytes = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      add(expected, r, ranks[r]);
      const auto rest = without_overlaps(ranks[r], std::span{ranks}.subspan(r + 1));
      ASSERT_EQ(rest.variables.size(), ranks[r].variables.size());
      bytes += rest.bytes();
      add(settled, r, rest);
    }
    ASSERT_EQ(settled, expected) << "case " << i;
    ASSERT_EQ(bytes, expected.size()) << "case " << i << ": nobody else keeps it";
  }
}

}  // namespace
}  // namespace weir

#include "pattern.hpp"

#include <algorithm>
#include <random>

namespace weir::bench {
namespace {

using RunsByRank = std::vector<std::vector<Run>>;

/// Pieces of 4 to 32 bytes without holes, each of another rank than the one before: hardly a strided run.
RunsByRank interleaved(std::uint64_t pieces, int ranks) {
  std::mt19937_64 random{1};
  const auto count = static_cast<std::uint64_t>(ranks);
  RunsByRank runs(count);
  for (auto& own : runs) own.reserve(pieces / count + pieces / (8 * count) + 16);
  std::uint64_t at = 0, rank = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    rank = count == 1 ? 0 : (rank + 1 + random() % (count - 1)) % count;
    const std::uint64_t length = 4 * (1 + random() % 8);
    runs[rank].push_back({.offset = at, .length = length});
    at += length;
  }
  return runs;
}

std::vector<Declaration> one_variable(RunsByRank runs) {
  std::vector<Declaration> ranks(runs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) ranks[r].variable(std::move(runs[r]));
  return ranks;
}

std::vector<Declaration> irregular(std::uint64_t pieces, int ranks) { return one_variable(interleaved(pieces, ranks)); }

std::vector<Declaration> shuffled(std::uint64_t pieces, int ranks) {
  RunsByRank runs = interleaved(pieces, ranks);
  std::mt19937_64 random{2};
  for (auto& own : runs) std::shuffle(own.begin(), own.end(), random);
  return one_variable(std::move(runs));
}

std::vector<Declaration> strided(std::uint64_t pieces, int ranks) {
  constexpr std::uint64_t length = 8;
  const auto count = static_cast<std::uint64_t>(ranks);
  RunsByRank runs(count);
  for (std::uint64_t r = 0; r < count; ++r)
    runs[r].push_back({r * length, length, count * length, std::max<std::uint64_t>(1, pieces / count)});
  return one_variable(std::move(runs));
}

std::vector<Declaration> shared(std::uint64_t pieces, int ranks) {
  constexpr std::uint64_t variables = 100;
  RunsByRank runs = interleaved(std::max<std::uint64_t>(1, pieces / variables), ranks);
  std::uint64_t end = 0;
  for (const auto& own : runs)
    if (!own.empty()) end = std::max(end, own.back().offset + own.back().length);
  std::vector<Declaration> result(runs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const int decomposition = result[r].decomposition(std::move(runs[r]));
    for (std::uint64_t v = 0; v < variables; ++v) result[r].variable(decomposition, v * end);
  }
  return result;
}

std::vector<Declaration> wide(std::uint64_t pieces, int ranks) {
  constexpr std::uint64_t length = 1024;
  const auto count = static_cast<std::uint64_t>(ranks);
  const std::uint64_t variables = std::max<std::uint64_t>(1, pieces / (2 * count));
  std::vector<Declaration> result(count);
  for (std::uint64_t r = 0; r < count; ++r)
    for (std::uint64_t v = 0; v < variables; ++v)
      result[r].variable(Run{(v * count + r) * length, length, variables * count * length, 2});
  return result;
}

std::vector<Declaration> overlapping(std::uint64_t pieces, int ranks) {
  constexpr std::uint64_t length = 8, stride = 16, per_variable = 4, step = 28;
  const auto count = static_cast<std::uint64_t>(ranks);
  const std::uint64_t variables = std::max<std::uint64_t>(1, pieces / (per_variable * count));
  std::vector<Declaration> result(count);
  for (std::uint64_t r = 0; r < count; ++r)
    for (std::uint64_t v = 0; v < variables; ++v)
      result[r].variable(Run{(r * variables + v) * step, length, stride, per_variable});
  return result;
}

}  // namespace

const std::vector<Pattern>& pattern_table() {
  static const std::vector<Pattern> table{
      {"irregular", "small pieces of random lengths, interleaved over the ranks, in the order of the file", irregular},
      {"shuffled", "the same in random order", shuffled},
      {"strided", "pieces of 8 bytes, one strided run a rank", strided},
      {"shared", "100 variables over one irregular decomposition", shared},
      {"wide", "variables of two pieces, one in either half of the file", wide},
      {"overlapping", "variables of four pieces, each half over the variable before", overlapping}};
  return table;
}

}  // namespace weir::bench

#include "mpi/random_declaration.hpp"

#include <algorithm>

namespace weir::testing {

namespace {

/// Every rank gets its own stretch of the file, or stretches dealt out in turn, with holes between.
void add_dealt(Random& random, RandomCase& made, std::uint64_t& at) {
  const std::size_t ranks = made.ranks.size();
  const std::uint64_t unit = between(random, 1, 64), deals = between(random, 0, 40), hole = between(random, 0, 3) * 5;
  std::vector<std::vector<Run>> runs(ranks);
  const bool shuffled = between(random, 0, 2) == 0;
  for (std::uint64_t i = 0; i < deals; ++i) {
    runs[between(random, 0, ranks - 1)].push_back({at, unit, 0, 1});
    at += unit + (between(random, 0, 3) == 0 ? hole : 0);
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (shuffled) std::shuffle(runs[r].begin(), runs[r].end(), random);
    made.ranks[r].variable(runs[r]);
  }
}

void add_strided(Random& random, RandomCase& made, std::uint64_t& at) {
  const std::uint64_t ranks = made.ranks.size(), length = between(random, 1, 40), count = between(random, 1, 30);
  const std::uint64_t gap = between(random, 0, 1) * between(random, 0, 9000);
  const std::uint64_t stride = ranks * length + gap;
  for (std::uint64_t r = 0; r < ranks; ++r) {
    const bool absent = between(random, 0, 7) == 0;
    made.ranks[r].variable(absent ? std::vector<Run>{} : std::vector<Run>{{at + r * length, length, stride, count}});
  }
  at += stride * count;
}

void add_box(Random& random, RandomCase& made, std::uint64_t& at) {
  const std::size_t dimensions = between(random, 1, 4);
  Box box;
  box.element = between(random, 1, 3) * 4 - between(random, 0, 1);
  for (std::size_t d = 0; d < dimensions; ++d) box.array.push_back(between(random, 1, dimensions > 2 ? 7 : 40));
  box.start.assign(dimensions, 0);
  box.size = box.array;
  const std::size_t cut = between(random, 0, dimensions - 1);
  const std::size_t ranks = made.ranks.size();
  const int uses = static_cast<int>(between(random, 1, 3));
  std::uint64_t bytes = box.element;
  for (const std::uint64_t n : box.array) bytes *= n;
  for (std::size_t r = 0; r < ranks; ++r) {
    Box mine = box;
    const std::uint64_t low = box.array[cut] * r / ranks, high = box.array[cut] * (r + 1) / ranks;
    mine.start[cut] = low;
    mine.size[cut] = high - low;
    const int shape = made.ranks[r].decomposition(mine);
    for (int u = 0; u < uses; ++u) made.ranks[r].variable(shape, at + static_cast<std::uint64_t>(u) * (bytes + 3));
  }
  at += static_cast<std::uint64_t>(uses) * (bytes + 3);
}

void add_overlapping(Random& random, RandomCase& made, std::uint64_t& at) {
  for (Declaration& declaration : made.ranks) {
    std::vector<Run> runs;
    for (std::uint64_t i = between(random, 0, 6); i > 0; --i)
      runs.push_back({at + between(random, 0, 200), between(random, 0, 60), between(random, 0, 70), between(random, 0, 4)});
    declaration.variable(runs);
  }
  at += between(random, 0, 400);
}

}  // namespace

RandomCase RandomCase::make(Random& random, int ranks, bool overlaps) {
  RandomCase made;
  made.ranks.resize(static_cast<std::size_t>(ranks));
  std::uint64_t at = between(random, 0, 1) * between(random, 0, 10000);
  for (std::uint64_t i = between(random, 0, 5); i > 0; --i) {
    switch (between(random, 0, overlaps ? 3 : 2)) {
      case 0: add_dealt(random, made, at); break;
      case 1: add_strided(random, made, at); break;
      case 2: add_box(random, made, at); break;
      default: add_overlapping(random, made, at); break;
    }
    if (between(random, 0, 3) == 0) at += between(random, 0, 20000);
  }
  for (const Declaration& declaration : made.ranks)
    for (int v = 0; v < declaration.variables(); ++v)
      for (const PlainPiece& piece : plain_pieces(declaration, v))
        made.end = std::max(made.end, piece.offset + piece.length);
  return made;
}

std::vector<PlainPiece> plain_pieces(const Declaration& declaration, int variable) {
  std::vector<PlainPiece> pieces;
  const auto& [shape, at] = declaration.variable_list()[static_cast<std::size_t>(variable)];
  for (const Run& run : declaration.shapes()[static_cast<std::size_t>(shape)].runs)
    for (std::uint64_t k = 0; k < run.count; ++k)
      if (run.length > 0) pieces.push_back({at + run.offset + k * run.stride, run.length});
  return pieces;
}

std::uint64_t plain_bytes(const Declaration& declaration, int variable) {
  std::uint64_t total = 0;
  for (const PlainPiece& piece : plain_pieces(declaration, variable)) total += piece.length;
  return total;
}

void overlay(Bytes& file, const RandomCase& declared, std::uint64_t seed) {
  file.resize(std::max<std::size_t>(file.size(), declared.end), 0);
  for (int r = 0; r < static_cast<int>(declared.ranks.size()); ++r)
    for (int v = 0; v < declared.ranks[r].variables(); ++v) {
      std::uint64_t index = 0;
      for (const PlainPiece& piece : plain_pieces(declared.ranks[r], v))
        for (std::uint64_t b = 0; b < piece.length; ++b) file[piece.offset + b] = content(seed, r, v, index++);
    }
}

}  // namespace weir::testing

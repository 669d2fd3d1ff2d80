#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <weir/declaration.hpp>

#include "bytes.hpp"

namespace weir::testing {

using Random = std::mt19937_64;

inline std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>{least, most}(random);
}

/// The declarations of all ranks: the same wherever they are made from the same seed.
struct RandomCase {
  std::vector<Declaration> ranks;
  std::uint64_t end = 0;  ///< of the file

  /// `overlaps` allows bytes that several pieces write.
  static RandomCase make(Random& random, int ranks, bool overlaps);
};

/// Pieces of a variable in memory order: the slow and obvious reading of a declaration.
struct PlainPiece {
  std::uint64_t offset, length;
};
std::vector<PlainPiece> plain_pieces(const Declaration& declaration, int variable);
std::uint64_t plain_bytes(const Declaration& declaration, int variable);

/// What the file must hold after all ranks wrote: `before` overlaid rank by rank, variable by variable, piece by piece.
void overlay(Bytes& file, const RandomCase& declared, std::uint64_t seed);

}  // namespace weir::testing

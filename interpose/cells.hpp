#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/pieces.hpp"

namespace weir::interpose {

/// Parts of the file, one after another, in each of which a rank has the same pieces.
struct Cells {
  std::uint64_t at = 0;        ///< where the first begins
  std::uint64_t distance = 0;  ///< from one to the next
  std::uint64_t count = 0;
  std::uint64_t reach = 0;   ///< of the pieces of one
  std::uint64_t pieces = 0;  ///< of one

  [[nodiscard]] std::uint64_t end() const noexcept { return at + distance * count; }
};

/// An access in few words, told to all ranks: then they see whether they have cells in common.
struct Sketch {
  static constexpr std::size_t most = 4;
  std::uint64_t count = 0;
  std::array<Cells, most> cells{};
  std::array<Extent, most + 1> rest{};  ///< from the first to the last piece before, between and behind the cells
  bool unknown = false;                 ///< it does not ascend, or has only a part of some cells
};

/// Cells that all ranks have, or at least no rank anything else in them. Some of those next to one another are taken
/// together, and become a variable each, of one decomposition.
struct CommonCells {
  Cells cells;
  std::uint64_t together = 1;
};

/// In the order of the file, the same on all ranks; none when the sketches do not go together.
std::vector<CommonCells> common_cells(std::span<const Sketch> sketches);

}  // namespace weir::interpose

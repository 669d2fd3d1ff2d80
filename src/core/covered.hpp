#pragma once

#include <span>
#include <vector>

#include "core/pieces.hpp"

namespace weir {

/// What the pieces of any of the lists cover within an extent, in order, as few extents as possible.
std::vector<Extent> covered(std::span<const PieceList* const> lists, Extent within = everywhere);

}  // namespace weir

#pragma once

#include <memory>
#include <vector>

#include "remote/protocol.hpp"

namespace weir {

/// Bytes that a part of a region has.
std::uint64_t bytes_of_part(const RegionPart& part) noexcept;

/// A region whose stripes go round several servers. `parts` are all of it, in order, of the sizes that the shape gives.
std::unique_ptr<RemoteRegion> make_striped_region(std::vector<std::unique_ptr<RemoteRegion>> parts,
                                                  const RegionPart& shape);

}  // namespace weir

#pragma once

#include <memory>

#include "core/descriptor.hpp"
#include "remote/server_link.hpp"

namespace weir {

/// A region of a server on this node, in this process's own address space.
Result<std::unique_ptr<RemoteRegion>> map_region(std::shared_ptr<ServerLink> link, const RegionAnswer& answer,
                                                 Descriptor memory);

}  // namespace weir

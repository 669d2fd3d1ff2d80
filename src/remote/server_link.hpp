#pragma once

#include <memory>

#include "net/connection.hpp"
#include "remote/protocol.hpp"

namespace weir {

/// A client's connection to one memory server, and what it has moved there. Regions keep it.
struct ServerLink {
  std::unique_ptr<Connection> connection;
  Moved moved;
  std::uint64_t access = 0;  ///< the one `MemoryFeature` that is used

  /// The answer to a request for a region.
  Result<RegionAnswer> ask_region(std::uint16_t type, std::span<const std::byte> payload);
  void release(std::uint64_t region) noexcept;
};

Status outside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace weir

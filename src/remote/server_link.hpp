#pragma once

#include <memory>

#include "net/connection.hpp"
#include "remote/data_client.hpp"
#include "remote/protocol.hpp"

namespace weir {

/// A client's connection to one memory server, and what it has moved there. Regions keep it.
struct ServerLink {
  std::unique_ptr<Connection> connection;
  Moved moved;
  std::uint64_t access = 0;          ///< the one `MemoryFeature` that is used
  std::unique_ptr<DataClient> data;  ///< null where the memory is mapped
  double timeout_s = 10;

  /// The answer to a request for a region.
  Result<RegionAnswer> ask_region(std::uint16_t type, std::span<const std::byte> payload);
  void release(std::uint64_t region) noexcept;

  /// Why the server cannot be reached any more, or nothing; then no transfer is under way.
  Status failure() noexcept;
  /// Until what was put is there. Without a limit while it moves on.
  Status settle() noexcept;
};

Status outside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace weir

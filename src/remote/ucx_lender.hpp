#pragma once

#include <cstdint>
#include <memory>
#include <weir/status.hpp>

#include "net/frame_server.hpp"
#include "remote/protocol.hpp"

namespace weir {

/// The server's side of puts and gets through UCX. Each client has a process of its own that ends with its session: what
/// a client does to UCX, which may end a process by an assertion, reaches no other client, and nothing that it began can
/// arrive after it was given up.
class UcxLender {
 public:
  static bool is_built_in() noexcept;
  static std::unique_ptr<UcxLender> make(FrameServer& server);
  virtual ~UcxLender() = default;

  /// Fills in address, key and worker of an answer that has number and size. The descriptor is of the region's memory.
  virtual Status lend(std::uint64_t session, int memory, RegionAnswer& answer) = 0;
  virtual void free(std::uint64_t region) noexcept = 0;
  virtual void left(std::uint64_t session) noexcept = 0;
};

}  // namespace weir

#pragma once

#include <cstdint>
#include <memory>
#include <weir/status.hpp>

#include "net/frame_server.hpp"
#include "remote/protocol.hpp"

namespace weir {

/// The server's side of puts and gets through UCX. Each client has a worker of its own that ends with its session, so
/// that nothing that a client began can arrive after it was given up.
class UcxLender {
 public:
  static bool is_built_in() noexcept;
  static Result<std::unique_ptr<UcxLender>> make(FrameServer& server);
  virtual ~UcxLender() = default;

  /// Fills in address, key and worker of an answer.
  virtual Status lend(std::uint64_t session, std::uint64_t region, std::byte* data, std::uint64_t bytes,
                      RegionAnswer& answer) = 0;
  virtual void free(std::uint64_t region) noexcept = 0;
  virtual void left(std::uint64_t session) noexcept = 0;
  /// Moves transfers forward; false when there is more to do before the server may wait.
  virtual bool is_idle() noexcept = 0;
};

}  // namespace weir

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <weir/status.hpp>

#include "memory/bank.hpp"
#include "net/service.hpp"
#include "remote/memory_server.hpp"
#include "remote/socket_lender.hpp"
#include "remote/ucx_lender.hpp"

namespace weir {

/// The memory of a server's regions, and the ways to give clients access to it.
class LentMemory {
 public:
  /// Ordinary memory, huge pages, or files without names in a directory, mapped.
  static Result<LentMemory> make(const MemoryServerOptions& options);

  /// `MemoryFeature` bits of the ways there are.
  [[nodiscard]] std::uint64_t features() const noexcept;

  /// All of it is there when this returns; `no_memory` when there is none.
  Status allocate(std::uint64_t region, const AllocateRequest& request);
  /// What the client needs to reach a region in one of the ways it asks for.
  Result<Answer> lend(std::uint64_t region, const Session& session, std::uint64_t access, FrameServer& server);
  /// Serves a socket for data of a client that was told this ticket.
  Status join(const Ticket& ticket, Descriptor socket);
  void free(std::uint64_t region) noexcept;
  void left(const Session& session) noexcept;

 private:
  struct Region {
    Allocation memory;
    std::uint64_t bytes = 0;  ///< as asked for; the memory is whole pages
    RegionPart part;
  };

  explicit LentMemory(std::unique_ptr<MemoryBank> bank) : bank_{std::move(bank)} {}

  std::unique_ptr<MemoryBank> bank_;
  std::unordered_map<std::uint64_t, Region> regions_;
  // When a client has asked for them.
  std::unique_ptr<UcxLender> ucx_;
  std::unique_ptr<SocketLender> sockets_;
};

}  // namespace weir

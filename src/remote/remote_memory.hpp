#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <weir/status.hpp>

#include "core/settings.hpp"

namespace weir {

/// How the processes of a job find a region: what one of them allocated under a name, the others attach by it. The key
/// is random and known to the job alone.
struct RegionName {
  std::uint64_t key[2] = {0, 0};
  std::uint64_t serial = 0;
  std::uint64_t rank = 0;

  bool operator==(const RegionName&) const = default;
};

/// Memory of a server, seen by a client: allocated by it, or by another process of the same job. Given back, or
/// detached from, when it ends. No verb throws; ranges outside it are `Code::invalid`.
class RemoteRegion {
 public:
  virtual ~RemoteRegion() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// The memory itself where the server is on this node and lends it so; null where only `put` and `get` reach it.
  [[nodiscard]] virtual std::byte* mapped() const noexcept = 0;

  /// Begin a transfer, or note it for `progress`; `data` must stay until that returns 0.
  virtual Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept = 0;
  virtual Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept = 0;
};

/// A client's view of the servers of a job, as one bank: a region longer than a stripe lies on all of them that have
/// room, in stripes. One thread at a time.
class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  /// In time bounded by the time-out of the connection: `no_memory` when the servers are full or the quota is used up.
  virtual Result<std::unique_ptr<RemoteRegion>> allocate(const RegionName& name, std::uint64_t bytes) = 0;
  /// `not_found` when there is none of the name.
  virtual Result<std::unique_ptr<RemoteRegion>> attach(const RegionName& name) = 0;

  /// Moves transfers forward; returns how many are under way. When `failure` has something, none is.
  virtual std::size_t progress() noexcept = 0;
  /// How many are under way, without moving them.
  [[nodiscard]] virtual std::size_t under_way() const noexcept = 0;
  /// Sleeps until a transfer that is under way may go on, or for a moment.
  virtual void doze() noexcept = 0;
  /// What was put before this call can be got by others when it is over: waits in bounded time.
  virtual Status flush() noexcept = 0;
  /// Why the servers cannot be reached any more, or nothing; looks.
  virtual Status failure() noexcept = 0;
  /// Whether all of it is memory of this node, mapped here.
  [[nodiscard]] virtual bool is_mapped() const noexcept = 0;
  /// Pieces of as many bytes are better moved where they lie than put together first.
  [[nodiscard]] virtual std::uint64_t long_piece() const noexcept = 0;
  /// Bytes that this client may have of all of them.
  virtual Result<std::uint64_t> capacity() = 0;
};

struct RemoteOptions {
  std::string contact;           ///< contact files of the servers, separated by commas
  std::string secret;            ///< file with the job's secret, or "munge[:SOCKET]", where the servers want one
  std::string transport = "auto";  ///< auto, mapped, ucx or socket
  double timeout_s = 10;         ///< after which a server that does not answer is given up
  std::uint64_t stripe = std::uint64_t{1} << 20;  ///< bytes of a region that lie together on one of several servers

  static RemoteOptions of(const ResolvedSettings& settings);
};

/// Connects to every server and proves who this is. In bounded time.
Result<std::unique_ptr<RemoteMemory>> connect_remote_memory(const RemoteOptions& options);

}  // namespace weir

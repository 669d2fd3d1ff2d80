#pragma once

#include <memory>
#include <vector>

#include "net/deadline.hpp"
#include "remote/remote_memory.hpp"

namespace weir {

/// What a context has of remote memory.
struct RemoteBank {
  RemoteOptions options;         ///< how it was reached
  std::unique_ptr<RemoteMemory> memory;
  RegionName name;               ///< of the job; `serial` counts the dumps that were named
  bool falls_back = true;        ///< a step that cannot go through it goes the ordinary way
  double wait_for_room_s = 0;    ///< when the servers are full
  bool synchronous = false;      ///< the ranks meet in every round
  std::uint64_t losses = 0;      ///< that all ranks know of: what is older is not used any more
  std::uint64_t connections = 1;  ///< that this rank has made

  /// All ranks know that one of them has lost it: dumps have new names from now on, the same on all ranks.
  void lose() noexcept { name.serial = ++losses << 32; }
  /// Connects anew after a loss, where there is a server again. Local; now and then, so that steps do not wait for it.
  void revive() noexcept;

 private:
  Deadline next_try_ = Deadline::in(0);
};

/// Remote memory of the steps of one plan: this rank's own part, and those of others as far as it has seen them.
struct RemoteDump {
  std::uint64_t plan_serial = 0;
  std::uint64_t losses = 0;  ///< of the bank when it was made
  RegionName name;  ///< but for the rank
  bool prepared = false;  ///< every rank has its own part
  std::unique_ptr<RemoteRegion> own;
  /// What an aggregator has of all of them, through a connection of its own where a thread of its own carries.
  struct Sources {
    std::unique_ptr<RemoteMemory> connection;
    std::vector<std::unique_ptr<RemoteRegion>> regions;
  };
  Sources sources, background;
};

/// The dumps of one arena. All ranks ask for the same ones in the same order.
class RemoteDumps {
 public:
  /// Null when there is no memory for it.
  std::shared_ptr<RemoteDump> of(std::uint64_t plan_serial, RemoteBank& bank) noexcept;

 private:
  static constexpr std::size_t most = 4;
  std::vector<std::shared_ptr<RemoteDump>> dumps_;
};

}  // namespace weir

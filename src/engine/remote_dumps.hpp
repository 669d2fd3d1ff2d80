#pragma once

#include <memory>
#include <vector>

#include "remote/remote_memory.hpp"

namespace weir {

/// What a context has of remote memory.
struct RemoteBank {
  RemoteOptions options;         ///< how it was reached
  std::unique_ptr<RemoteMemory> memory;
  RegionName name;               ///< of the job; `serial` counts the dumps that were named
  bool falls_back = true;        ///< a step that cannot go through it goes the ordinary way
  bool synchronous = false;      ///< the ranks meet in every round
};

/// Remote memory of the steps of one plan: this rank's own part, and those of others as far as it has seen them.
struct RemoteDump {
  std::uint64_t plan_serial = 0;
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
  std::shared_ptr<RemoteDump> of(std::uint64_t plan_serial, RegionName& next) noexcept;

 private:
  static constexpr std::size_t most = 4;
  std::vector<std::shared_ptr<RemoteDump>> dumps_;
};

}  // namespace weir

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "net/frame.hpp"
#include "net/socket.hpp"

namespace weir {

/// A client that has proved who it is, for as long as its connection holds. Numbers are never used twice.
struct Session {
  /// Of connections that are to be handed over: they do not count as clients.
  static constexpr const char* data_role = "data";

  std::uint64_t id = 0;
  bool local = false;   ///< over a UNIX socket
  PeerProcess process;  ///< where it is local
  std::uint64_t features = 0;
  std::string role;
};

struct Answer {
  std::uint16_t type = FrameType::none;  ///< none: nothing is sent
  std::vector<std::byte> payload;
  Descriptor lent = {};  ///< goes with it; only where the session is local
};

/// What a server does for its clients. Called by the server's one thread.
class Service {
 public:
  virtual ~Service() = default;

  virtual Answer handle(const Session& session, const Frame& request) = 0;
  /// The connection is over, whoever ended it, and the client can see that; not called for clients that never asked for
  /// anything.
  virtual void left(const Session& session) noexcept = 0;
};

}  // namespace weir

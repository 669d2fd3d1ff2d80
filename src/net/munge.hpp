#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <weir/status.hpp>

namespace weir {

/// Credentials of munge, a service that clusters have: its daemons, which share a key that users cannot read, say which
/// user made a credential. libmunge is loaded when it is first needed. Calls wait for the daemon of this machine, some
/// seconds at most.
class Munge {
 public:
  /// At the daemon's usual socket unless one is named; credentials live as long as the daemon says unless told.
  /// `unsupported` without libmunge.
  static Result<Munge> make(std::string socket = {}, int lifetime_s = 0);
  /// "munge" or "munge:SOCKET" in the place of the name of a file with a secret: the socket, "" for the usual one.
  static std::optional<std::string> socket_in(const std::string& secret);

  /// With a message in it. Only processes of this user can read it.
  [[nodiscard]] Result<std::vector<std::byte>> credential(std::span<const std::byte> message) const;
  /// `access` unless a process of this user made it lately, with this message, and nobody has shown it before.
  [[nodiscard]] Status check(std::span<const std::byte> credential, std::span<const std::byte> message) const;

 private:
  Munge(std::string socket, int lifetime_s) : socket_{std::move(socket)}, lifetime_s_{lifetime_s} {}

  std::string socket_;
  int lifetime_s_;
};

}  // namespace weir

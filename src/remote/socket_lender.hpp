#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>
#include <weir/status.hpp>

#include "core/descriptor.hpp"
#include "remote/protocol.hpp"
#include "remote/transfer_heading.hpp"

namespace weir {

class ServedSocket;

/// The server's side of puts and gets over sockets: a few threads that serve the sockets of all clients. Every access
/// is checked against the regions of that client alone.
class SocketLender {
 public:
  static Result<std::unique_ptr<SocketLender>> make();
  ~SocketLender();

  /// From now on the client may use the memory, until it is freed; the answer tells it how to join.
  Status lend(std::uint64_t session, std::span<std::byte> memory, RegionAnswer& answer);
  /// Serves a socket that has proved who it is. `access` when nobody was given the ticket, or it was used before.
  Status join(const Ticket& ticket, Descriptor socket);
  /// Nothing touches the memory any more when these return.
  void free(std::uint64_t region) noexcept;
  void left(std::uint64_t session) noexcept;

 private:
  struct Client {
    Ticket ticket;
    std::shared_ptr<ServedSocket> socket;
  };

  SocketLender() = default;
  void work() noexcept;
  std::shared_ptr<ServedSocket> socket_of(std::uint64_t session) noexcept;

  static constexpr std::uint64_t stop = 0;  // no session has this number

  Descriptor epoll_, stop_;
  std::mutex mutex_;  // of the clients
  std::unordered_map<std::uint64_t, Client> clients_;
  std::vector<std::thread> threads_;
};

}  // namespace weir

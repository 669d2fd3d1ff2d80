#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <weir/status.hpp>

#include "core/descriptor.hpp"
#include "net/deadline.hpp"
#include "net/endpoint.hpp"

/// Sockets that never block, never raise a signal, and notice when the other side's machine is gone.
namespace weir {

/// A socket that listens, and where: with the port that it was given. A socket file that nobody listens on is replaced.
Result<Descriptor> listen_at(Endpoint& endpoint);
Result<Descriptor> connect_to(const Endpoint& endpoint, const Deadline& deadline);
/// Whether packets for it can only come from this machine.
Result<bool> is_loopback(const Endpoint& endpoint);

/// For both ends of a TCP connection: no delay, and an error after this time without an answer from the machine.
void set_tcp_options(int socket, double silence_s) noexcept;

struct PeerProcess {
  std::uint32_t uid = ~0U;
  std::int32_t pid = 0;
};
/// Who is at the other end of a UNIX socket, in the kernel's words.
Result<PeerProcess> peer_of(int socket);

/// As send and recv, -1 with errno; a descriptor of ours is lent to the other side, one of theirs becomes ours.
ssize_t send_some(int socket, std::span<const std::byte> data, int lent = -1) noexcept;
ssize_t receive_some(int socket, std::span<std::byte> data, Descriptor* received = nullptr) noexcept;

/// False when the deadline comes first. `events` as for poll.
bool wait_for(int socket, short events, const Deadline& deadline) noexcept;

}  // namespace weir

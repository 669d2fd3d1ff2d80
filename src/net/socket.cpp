#include "net/socket.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "core/errors.hpp"

namespace weir {
namespace {

constexpr int backlog = 1024;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Status endpoint_problem(int error, std::string_view action, const Endpoint& endpoint, std::string_view remedy = {}) {
  return problem(
      code_of(error), [&] { return fmt::format("cannot {} {}: {}", action, endpoint.text(), reason_of(error)); },
      remedy);
}

Result<Addresses> resolve(const Endpoint& endpoint) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(endpoint.place.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found))
    return problem(Code::not_found,
                   [&] { return fmt::format("cannot find the host '{}': {}", endpoint.place, ::gai_strerror(error)); });
  return Addresses{found};
}

Descriptor new_socket(int family) {
  return Descriptor{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
}

sockaddr_un unix_address(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, endpoint.place.c_str(), endpoint.place.size() + 1);
  return address;
}

int connect_unix(int socket, const Endpoint& endpoint) noexcept {
  const sockaddr_un address = unix_address(endpoint);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

/// 0 or an errno.
int bind_unix(int socket, const Endpoint& endpoint) noexcept {
  const sockaddr_un address = unix_address(endpoint);
  const mode_t mask = ::umask(0177);
  const int error = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  ::umask(mask);
  return error;
}

/// Whether a socket file is there that nobody listens on any more.
bool is_left_over(const Endpoint& endpoint) {
  struct stat file {};
  if (::lstat(endpoint.place.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode) || file.st_uid != ::geteuid())
    return false;
  const Descriptor probe = new_socket(AF_UNIX);
  return probe && connect_unix(probe.get(), endpoint) == ECONNREFUSED;
}

Result<Descriptor> listen_unix(const Endpoint& endpoint) {
  Descriptor socket = new_socket(AF_UNIX);
  if (!socket) return endpoint_problem(errno, "listen at", endpoint);
  int error = bind_unix(socket.get(), endpoint);
  if (error == EADDRINUSE && is_left_over(endpoint)) {
    ::unlink(endpoint.place.c_str());
    error = bind_unix(socket.get(), endpoint);
  }
  if (error)
    return endpoint_problem(error, "listen at", endpoint,
                            error == EADDRINUSE ? "another server has it; name another path" : "");
  if (::listen(socket.get(), backlog) != 0) return endpoint_problem(errno, "listen at", endpoint);
  return socket;
}

std::uint16_t port_of(int socket) noexcept {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// Completes a connect that was begun; 0 or an errno.
int connected(int socket, const Deadline& deadline) noexcept {
  if (!wait_for(socket, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

void set_tcp_options(int socket, double silence_s) noexcept {
  const int on = 1, keep_alive_s = std::max(1, static_cast<int>(silence_s / 3)), probes = 3;
  const unsigned user_timeout_ms = static_cast<unsigned>(silence_s * 1000);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms, sizeof user_timeout_ms);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &keep_alive_s, sizeof keep_alive_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &keep_alive_s, sizeof keep_alive_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

Result<Descriptor> listen_at(Endpoint& endpoint) {
  if (endpoint.local) return listen_unix(endpoint);
  auto addresses = resolve(endpoint);
  if (!addresses) return addresses.status();
  const addrinfo& first = **addresses;
  Descriptor socket = new_socket(first.ai_family);
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), first.ai_addr, first.ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0)
    return endpoint_problem(errno, "listen at", endpoint, errno == EADDRINUSE ? "port 0 takes any free port" : "");
  endpoint.port = port_of(socket.get());
  return socket;
}

Result<Descriptor> connect_to(const Endpoint& endpoint, const Deadline& deadline) {
  int error = EADDRNOTAVAIL;
  if (endpoint.local) {
    Descriptor socket = new_socket(AF_UNIX);
    if (!socket) return endpoint_problem(errno, "connect to", endpoint);
    // A full queue of the server is EAGAIN here, and nothing tells when there is room.
    while ((error = connect_unix(socket.get(), endpoint)) == EAGAIN || error == EINTR) {
      if (deadline.is_over()) return endpoint_problem(ETIMEDOUT, "connect to", endpoint);
      ::poll(nullptr, 0, 2);
    }
    if (error == 0) return socket;
  } else {
    auto addresses = resolve(endpoint);
    if (!addresses) return addresses.status();
    do {
      // A link that has just come back may be told of as it was before.
      if (error == EHOSTUNREACH) ::poll(nullptr, 0, 20);
      for (const addrinfo* at = addresses->get(); at; at = at->ai_next) {
        Descriptor socket = new_socket(at->ai_family);
        if (!socket) return endpoint_problem(errno, "connect to", endpoint);
        error = ::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
        if (error == EINPROGRESS || error == EINTR) error = connected(socket.get(), deadline);
        if (error == 0) return socket;
      }
    } while (error == EHOSTUNREACH && !deadline.is_over());
  }
  return endpoint_problem(
      error, "connect to", endpoint,
      error == ECONNREFUSED || error == ENOENT ? "no server listens there; is it still running?" : "");
}

Result<bool> is_loopback(const Endpoint& endpoint) {
  if (endpoint.local) return true;
  auto addresses = resolve(endpoint);
  if (!addresses) return addresses.status();
  for (const addrinfo* at = addresses->get(); at; at = at->ai_next) {
    if (at->ai_family == AF_INET6) {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(at->ai_addr)->sin6_addr;
      if (!IN6_IS_ADDR_LOOPBACK(&address)) return false;
    } else if (ntohl(reinterpret_cast<const sockaddr_in*>(at->ai_addr)->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) {
      return false;
    }
  }
  return true;
}

Result<PeerProcess> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return system_problem(errno, "find out who is at the other end of a socket");
  return PeerProcess{peer.uid, peer.pid};
}

ssize_t send_some(int socket, std::span<const std::byte> data, int lent) noexcept {
  iovec part{const_cast<std::byte*>(data.data()), data.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (lent >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &lent, sizeof lent);
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_some(int socket, std::span<std::byte> data, Descriptor* received) noexcept {
  iovec part{data.data(), data.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  // Without room for them the kernel closes descriptors that nobody asked for.
  if (received) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0 || !received) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    *received = Descriptor{descriptor};
  }
  return got;
}

bool wait_for(int socket, short events, const Deadline& deadline) noexcept {
  pollfd wanted{socket, events, 0};
  for (;;) {
    const int ready = ::poll(&wanted, 1, deadline.left_ms());
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace weir

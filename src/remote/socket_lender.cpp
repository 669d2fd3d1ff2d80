#include "remote/socket_lender.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/errors.hpp"
#include "net/secret.hpp"
#include "remote/served_socket.hpp"

namespace weir {

Result<std::unique_ptr<SocketLender>> SocketLender::make() {
  std::unique_ptr<SocketLender> lender{new SocketLender};
  lender->epoll_ = Descriptor{::epoll_create1(EPOLL_CLOEXEC)};
  lender->stop_ = Descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  epoll_event event{EPOLLIN, {.u64 = stop}};
  if (!lender->epoll_ || !lender->stop_ ||
      ::epoll_ctl(lender->epoll_.get(), EPOLL_CTL_ADD, lender->stop_.get(), &event) != 0)
    return system_problem(errno, "serve clients over sockets");
  // Signals are the program's, not these threads'.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const Status started = attempt("serve clients over sockets", [&]() -> Status {
    for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1U, 8U); ++i)
      lender->threads_.emplace_back([&lender = *lender] { lender.work(); });
    return {};
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return started;
  return lender;
}

SocketLender::~SocketLender() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  for (std::thread& thread : threads_) thread.join();
}

Status SocketLender::lend(std::uint64_t session, std::span<std::byte> memory, RegionAnswer& answer) {
  const std::lock_guard lock{mutex_};
  auto found = clients_.find(session);
  if (found == clients_.end()) {
    Client client{{}, std::make_shared<ServedSocket>(epoll_.get(), session)};
    if (Status status = fill_random(client.ticket); !status) return status;
    found = clients_.emplace(session, std::move(client)).first;
  }
  found->second.socket->lend(answer.region, memory);
  const auto* ticket = reinterpret_cast<const char*>(found->second.ticket.data());
  answer.key.assign(ticket, ticket + sizeof(Ticket));
  return {};
}

Status SocketLender::join(const Ticket& ticket, Descriptor socket) {
  const std::lock_guard lock{mutex_};
  const auto client = std::ranges::find_if(clients_, [&](const auto& each) { return each.second.ticket == ticket; });
  if (client == clients_.end() || !client->second.socket->open(std::move(socket)))
    return problem(Code::access, "the server refuses a connection for data: nobody waits for it");
  return {};
}

void SocketLender::free(std::uint64_t region) noexcept {
  const std::lock_guard lock{mutex_};
  for (auto& [session, client] : clients_) client.socket->free(region);
}

void SocketLender::left(std::uint64_t session) noexcept {
  const std::lock_guard lock{mutex_};
  const auto found = clients_.find(session);
  if (found == clients_.end()) return;
  found->second.socket->close();
  clients_.erase(found);
}

std::shared_ptr<ServedSocket> SocketLender::socket_of(std::uint64_t session) noexcept {
  const std::lock_guard lock{mutex_};
  const auto found = clients_.find(session);
  return found == clients_.end() ? nullptr : found->second.socket;
}

void SocketLender::work() noexcept {
  std::array<epoll_event, 4> events;
  while (true) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t session = events[static_cast<std::size_t>(i)].data.u64;
      if (session == stop) return;
      if (const auto socket = socket_of(session)) socket->serve();
    }
  }
}

}  // namespace weir

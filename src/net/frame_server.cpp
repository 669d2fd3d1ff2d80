#include "net/frame_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>

#include "core/errors.hpp"
#include "core/log.hpp"

namespace weir {
namespace {

constexpr unsigned most_damaged = 3;  ///< frames of a connection, before it is closed
constexpr int look_ms = 100;          ///< how exact deadlines of clients are
constexpr std::size_t most_joining = 16;  ///< beyond the limits, until they turn out to be clients' connections for data
constexpr double grace_s = 0.5;       ///< that a new connection has where others wait for its place

std::size_t half_of_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::max<std::size_t>(8, std::min<std::size_t>(limit.rlim_cur, 1U << 20) / 2);
}

}  // namespace

struct FrameServer::Connection {
  struct Outgoing {
    std::vector<std::byte> bytes;
    std::size_t sent = 0;
    Descriptor lent;
  };

  Connection(Descriptor descriptor, const Credentials& credentials)
      : socket{std::move(descriptor)}, handshake{credentials}, decoder{HandshakeLimits::most_bytes} {}

  Descriptor socket;
  ServerHandshake handshake;
  FrameDecoder decoder;
  Session session;
  bool surplus = false;  ///< admitted beyond the limits
  bool proved = false, asked = false, closing = false, dropped = false, wants_out = false;
  unsigned damaged = 0;
  std::uint64_t last_sequence = 0, queued = 0;
  std::deque<Outgoing> out;
  Deadline grace = Deadline::in(grace_s);
  Deadline in = Deadline::never();      ///< of the hello, later of a frame that has begun
  Deadline out_by = Deadline::never();  ///< of the first answer that waits
  Deadline idle = Deadline::never();
};

FrameServer::FrameServer(Endpoint endpoint, Credentials credentials, const ServerLimits& limits, Service& service)
    : endpoint_{std::move(endpoint)}, credentials_{std::move(credentials)}, limits_{limits}, service_{service} {}

Result<std::unique_ptr<FrameServer>> FrameServer::make(Endpoint endpoint, Credentials credentials,
                                                       const ServerLimits& limits, Service& service) {
  if (credentials.proof() == ProofKind::none && !endpoint.local) {
    auto loopback = is_loopback(endpoint);
    if (!loopback) return loopback.status();
    return problem(
        Code::access,
        [&] {
          return fmt::format(
              "cannot listen at {} without a secret: {}", endpoint.text(),
              *loopback ? "every user of this machine could connect" : "every user of the network could connect");
        },
        "name a file for the secret with --secret, which is made unless it is there, or munge; or listen at unix:PATH");
  }
  std::unique_ptr<FrameServer> server{new FrameServer{std::move(endpoint), std::move(credentials), limits, service}};
  if (Status status = server->prepare(); !status) return status;
  return server;
}

Status FrameServer::prepare() {
  if (limits_.connections == 0) limits_.connections = half_of_descriptors();
  auto listener = listen_at(endpoint_);
  if (!listener) return listener.status();
  listener_ = *std::move(listener);
  epoll_ = Descriptor{::epoll_create1(EPOLL_CLOEXEC)};
  wake_ = Descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  spare_ = Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!epoll_ || !wake_ || !spare_) return system_problem(errno, "start the server");
  for (const int descriptor : {listener_.get(), wake_.get()}) {
    epoll_event event{EPOLLIN, {.fd = descriptor}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
      return system_problem(errno, "start the server");
  }
  return {};
}

FrameServer::~FrameServer() {
  for (auto& [descriptor, connection] : connections_) connection->socket.reset();
  for (auto& [descriptor, connection] : connections_)
    if (connection->asked) service_.left(connection->session);
  if (listener_ && endpoint_.local) ::unlink(endpoint_.place.c_str());
}

void FrameServer::stop() noexcept {
  stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

Status FrameServer::watch(int descriptor, std::function<void()> ready) {
  epoll_event event{EPOLLIN, {.fd = descriptor}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    return system_problem(errno, "watch a descriptor");
  watched_[descriptor] = std::move(ready);
  return {};
}

void FrameServer::forget(int descriptor) noexcept {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  watched_.erase(descriptor);
}

Result<Descriptor> FrameServer::hand_over(std::uint64_t session) noexcept {
  const auto found = std::ranges::find_if(
      connections_, [&](const auto& each) { return each.second->session.id == session && !each.second->dropped; });
  if (found == connections_.end()) return problem(Code::internal, "cannot hand over a connection that is not there");
  Descriptor socket{::fcntl(found->first, F_DUPFD_CLOEXEC, 0)};
  if (!socket) return system_problem(errno, "serve a client's data");
  drop(*found->second, "it serves something else now");
  return socket;
}

void FrameServer::end(std::uint64_t session) noexcept {
  for (auto& [descriptor, connection] : connections_)
    if (connection->session.id == session) drop(*connection, "it cannot be served any more");
}

int FrameServer::wait_ms() const noexcept { return connections_.empty() && !paused_ ? -1 : look_ms; }

Status FrameServer::run() {
  std::array<epoll_event, 64> events{};
  while (!stopping_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), wait_ms());
    if (count < 0 && errno != EINTR) return system_problem(errno, "wait for clients");
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == listener_.get()) {
        accept_some();
      } else if (auto found = connections_.find(event.data.fd); found != connections_.end()) {
        serve(*found->second, event.events);
      } else if (auto watched = watched_.find(event.data.fd); watched != watched_.end()) {
        watched->second();
      }
    }
    expire();
    close_dropped();
  }
  return {};
}

void FrameServer::pause_accepting(bool pause) noexcept {
  if (pause == paused_) return;
  paused_ = pause;
  epoll_event event{pause ? 0U : EPOLLIN, {.fd = listener_.get()}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

/// Whether one more connection may be accepted: where too many have not proved anything, the oldest must go, but not
/// before it had a chance, since all ranks of a job come at the same time.
bool FrameServer::make_room() {
  if (before_proof_ < limits_.before_proof) return true;
  Connection* oldest = nullptr;
  for (auto& [descriptor, connection] : connections_)
    if (!connection->proved && !connection->dropped && (!oldest || connection->grace < oldest->grace))
      oldest = connection.get();
  if (!oldest || !oldest->grace.is_over()) return false;
  drop(*oldest, "others wait, and it has not proved who it is");
  return true;
}

/// Without a descriptor left a connection can be neither served nor refused, and would be announced for ever.
void FrameServer::shed_one() noexcept {
  spare_.reset();
  Descriptor{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)}.reset();
  spare_ = Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  ++counters_.refused;
}

void FrameServer::accept_some() {
  for (int accepted = 0; accepted < 64; ++accepted) {
    if (!make_room()) return pause_accepting(true);
    Descriptor socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!socket) {
      if (errno != EMFILE && errno != ENFILE) return;
      shed_one();
      log_line(LogComponent::net, LogLevel::warn, "no descriptor left for a client");
      return pause_accepting(true);
    }
    if (!admit(std::move(socket))) ++counters_.refused;
  }
}

Status FrameServer::too_many() const noexcept {
  return problem(
      Code::too_many_files,
      [&] {
        return fmt::format("the server refuses this client: it has {} already",
                           std::min(limits_.per_user, limits_.connections));
      },
      "start it with a higher --clients, or start more servers");
}

bool FrameServer::admit(Descriptor socket) {
  const int descriptor = socket.get();
  auto connection = std::make_unique<Connection>(std::move(socket), credentials_);
  connection->session.local = endpoint_.local;
  Status refused;
  if (endpoint_.local) {
    auto peer = peer_of(descriptor);
    if (!peer) return false;
    connection->session.process = *peer;
    if (peer->uid != ::geteuid())
      refused = problem(Code::access, "the server refuses this client: it belongs to another user");
  } else {
    set_tcp_options(descriptor, limits_.progress_s);
  }
  std::size_t& of_user = per_user_[connection->session.process.uid];
  const auto is_full = [&](std::size_t more) {
    return of_user >= limits_.per_user + more || connections_.size() >= limits_.connections + more;
  };
  connection->surplus = is_full(0);
  if (is_full(most_joining)) refused = too_many();
  if (!refused) {
    const HandshakeReply reply = refusal(refused.code(), refused.message());
    send_some(descriptor, encode_frame(reply.type, 0, reply.payload));
    if (log_rate_.allow()) log_line(LogComponent::net, LogLevel::warn, "client refused: {}", refused.message());
    return false;
  }
  epoll_event event{EPOLLIN | EPOLLRDHUP, {.fd = descriptor}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return false;
  connection->in = Deadline::in(limits_.hello_s);
  connection->session.id = next_session_++;
  connections_.emplace(descriptor, std::move(connection));
  ++of_user;
  ++before_proof_;
  ++counters_.accepted;
  return true;
}

void FrameServer::serve(Connection& connection, std::uint32_t events) {
  if (connection.dropped) return;
  const Status status = attempt("serve a client", [&]() -> Status {
    if (events & EPOLLOUT) send_queued(connection);
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) receive(connection);
    return {};
  });
  if (!status) drop(connection, "no memory to serve it");
}

void FrameServer::receive(Connection& connection) {
  static thread_local std::array<std::byte, 1U << 16> buffer;
  const ssize_t got = receive_some(connection.socket.get(), buffer);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got <= 0) return drop(connection, got == 0 ? "it left" : reason_of(errno));
  std::span<const std::byte> data{buffer.data(), static_cast<std::size_t>(got)};
  while (!data.empty() && !connection.dropped && !connection.closing) {
    auto frame = connection.decoder.take(data);
    if (!frame) return refuse(connection, frame.status());
    if (!*frame) continue;
    if (connection.proved) connection.in = Deadline::never();
    take(connection, **frame);
  }
  if (connection.proved && connection.decoder.is_midway())
    connection.in = std::min(connection.in, Deadline::in(limits_.progress_s));
}

void FrameServer::take(Connection& connection, const Frame& frame) {
  connection.proved ? take_request(connection, frame) : take_handshake(connection, frame);
}

void FrameServer::take_handshake(Connection& connection, const Frame& frame) {
  HandshakeReply reply = connection.handshake.take(frame);
  std::string reason = connection.handshake.reason();
  if (reply.type == FrameType::welcome && connection.surplus &&
      connection.handshake.agreement().role != Session::data_role) {
    const Status refused = too_many();
    reply = refusal(refused.code(), refused.message());
    reason = refused.message();
  }
  const std::uint16_t type = reply.type;
  if (type == FrameType::refused && log_rate_.allow())
    log_line(LogComponent::net, LogLevel::warn, "client refused: {} ({} like it not told)", reason,
             log_rate_.held_back());
  answer(connection, frame.sequence, {type, std::move(reply.payload)});
  if (type == FrameType::refused) {
    ++counters_.refused;
    connection.closing = true;
    if (connection.out.empty()) drop(connection, "refused");
  } else if (type == FrameType::welcome && !connection.dropped) {
    --before_proof_;
    pause_accepting(false);
    connection.proved = true;
    connection.decoder.set_limit(limits_.frame_bytes);
    connection.in = Deadline::never();
    connection.idle = Deadline::in(limits_.idle_s);
    connection.last_sequence = frame.sequence;
    connection.session.features = connection.handshake.agreement().features;
    connection.session.role = connection.handshake.agreement().role;
  }
}

void FrameServer::take_request(Connection& connection, const Frame& frame) {
  connection.idle = Deadline::in(limits_.idle_s);
  if (frame.damaged) {
    ++counters_.damaged;
    if (++connection.damaged >= most_damaged) return drop(connection, "too many damaged frames");
    return answer(connection, frame.sequence, {FrameType::again, {}});
  }
  if (frame.sequence <= connection.last_sequence || frame.type < FrameType::first)
    return refuse(connection, problem(Code::invalid, [&] {
                    return fmt::format("cannot take request {} of type {} after request {}", frame.sequence, frame.type,
                                       connection.last_sequence);
                  }));
  connection.last_sequence = frame.sequence;
  connection.asked = true;
  ++counters_.requests;
  Answer reply = service_.handle(connection.session, frame);
  if (reply.type != FrameType::none) answer(connection, frame.sequence, std::move(reply));
}

void FrameServer::answer(Connection& connection, std::uint64_t sequence, Answer answer) {
  auto bytes = encode_frame(answer.type, sequence, answer.payload);
  connection.queued += bytes.size();
  if (connection.queued > limits_.queue_bytes) return drop(connection, "it does not take its answers");
  if (connection.out.empty()) connection.out_by = Deadline::in(limits_.progress_s);
  connection.out.push_back({std::move(bytes), 0, std::move(answer.lent)});
  send_queued(connection);
}

void FrameServer::send_queued(Connection& connection) {
  while (!connection.out.empty()) {
    Connection::Outgoing& first = connection.out.front();
    const ssize_t sent =
        send_some(connection.socket.get(), std::span{first.bytes}.subspan(first.sent), first.lent.get());
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (sent < 0) return drop(connection, reason_of(errno));
    first.lent.reset();
    first.sent += static_cast<std::size_t>(sent);
    connection.queued -= static_cast<std::size_t>(sent);
    if (first.sent < first.bytes.size()) continue;
    connection.out.pop_front();
    connection.out_by = connection.out.empty() ? Deadline::never() : Deadline::in(limits_.progress_s);
  }
  if (connection.out.empty() && connection.closing) return drop(connection, "refused");
  if (connection.wants_out == !connection.out.empty()) return;
  connection.wants_out = !connection.out.empty();
  epoll_event event{EPOLLIN | EPOLLRDHUP | (connection.wants_out ? EPOLLOUT : 0U), {.fd = connection.socket.get()}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), &event);
}

void FrameServer::refuse(Connection& connection, const Status& reason) {
  ++counters_.refused;
  if (log_rate_.allow())
    log_line(LogComponent::net, LogLevel::warn, "connection closed: {} ({} like it not told)", reason.message(),
             log_rate_.held_back());
  HandshakeReply reply = refusal(reason.code(), reason.message());
  connection.closing = true;
  // Who does not speak the protocol would not understand the answer either.
  if (reason.code() == Code::corrupt) return drop(connection, "refused");
  answer(connection, 0, {reply.type, std::move(reply.payload)});
}

/// The connection itself stays until nobody uses it any more.
void FrameServer::drop(Connection& connection, std::string_view reason) {
  if (connection.dropped) return;
  connection.dropped = true;
  ++counters_.dropped;
  log_line(LogComponent::net, LogLevel::debug, "client {} dropped: {}", connection.session.id, reason);
  dropped_.push_back(connection.socket.get());
}

void FrameServer::close_dropped() {
  for (std::size_t next = 0; next < dropped_.size(); ++next) {  // the end of one can be that of another
    const auto found = connections_.find(dropped_[next]);
    const std::unique_ptr<Connection> connection = std::move(found->second);
    connections_.erase(found);
    if (auto user = per_user_.find(connection->session.process.uid); --user->second == 0) per_user_.erase(user);
    if (!connection->proved) --before_proof_;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection->socket.get(), nullptr);  // it may be open elsewhere
    connection->socket.reset();  // a client that sees it open after it has used something lent knows that it still was
    if (connection->asked) service_.left(connection->session);
  }
  if (!dropped_.empty()) pause_accepting(false);
  dropped_.clear();
}

void FrameServer::expire() {
  if (!next_look_.is_over()) return;
  next_look_ = Deadline::in(look_ms / 1000.0);
  for (auto& [descriptor, connection] : connections_) {
    if (connection->in.is_over() || connection->out_by.is_over())
      drop(*connection, connection->proved ? "it makes no progress" : "it did not prove who it is in time");
    else if (connection->idle.is_over())
      drop(*connection, "it has said nothing for too long");
  }
  pause_accepting(false);
}

}  // namespace weir

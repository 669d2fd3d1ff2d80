#include "net/connection.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "net/socket.hpp"

namespace weir {
namespace {

constexpr std::uint64_t most_answer_bytes = 1U << 20;
constexpr int most_attempts = 3;  ///< of a request that arrives damaged
constexpr double beats_per_timeout = 4;

}  // namespace

Connection::Connection(Descriptor socket, const Contact& contact, double timeout_s)
    : socket_{std::move(socket)},
      name_{contact.endpoint.text()},
      timeout_s_{timeout_s},
      decoder_{HandshakeLimits::most_bytes} {}

Result<std::unique_ptr<Connection>> Connection::open(const Contact& contact, const Options& options) {
  Credentials credentials{contact.job, contact.nonce, options.features, {}, options.role, {}};
  if (Status status = credentials.prove_by(options.secret); !status) return status;
  const Deadline deadline = Deadline::in(options.timeout_s);
  auto socket = connect_to(contact.endpoint, deadline);
  if (!socket) return socket.status();
  if (contact.endpoint.local) {
    auto peer = peer_of(socket->get());
    if (!peer) return peer.status();
    if (peer->uid != ::geteuid())
      return problem(Code::access, [&] {
        return fmt::format("cannot trust the server at {}: it belongs to user {}", contact.endpoint.text(), peer->uid);
      });
  } else {
    set_tcp_options(socket->get(), options.timeout_s);
    if (credentials.proof() == ProofKind::none)
      return problem(
          Code::access,
          [&] { return fmt::format("cannot connect to {} without the secret of the job", contact.endpoint.text()); },
          "name the file, or munge, as the server was given with --secret");
  }
  std::unique_ptr<Connection> connection{new Connection{*std::move(socket), contact, options.timeout_s}};
  if (Status status = connection->agree(credentials, deadline); !status) return status;
  return connection;
}

Status Connection::agree(const Credentials& credentials, const Deadline& deadline) {
  ClientHandshake handshake{credentials};
  for (auto message = handshake.begin();;) {
    if (!message) return message.status();
    if (message->type == FrameType::none) break;
    if (Status status = send(message->type, message->payload, deadline); !status) return status;
    auto frame = receive(deadline);
    if (!frame) return frame.status();
    message = handshake.take(*frame);
  }
  agreement_ = handshake.agreement();
  decoder_.set_limit(most_answer_bytes);
  return {};
}

Status Connection::fail(Status reason) noexcept {
  if (failure_.ok()) failure_ = std::move(reason);
  socket_.reset();
  return failure_;
}

Status Connection::fail(Code code, std::string_view reason) noexcept {
  return fail(problem(
      code, [&] { return fmt::format("lost the server at {}: {}", name_, reason); },
      "see whether it still runs, and why not"));
}

Status Connection::send(std::uint16_t type, std::span<const std::byte> payload, const Deadline& deadline) {
  if (!failure_) return failure_;
  const auto bytes = encode_frame(type, ++sequence_, payload);
  for (std::span<const std::byte> left = bytes; !left.empty();) {
    const ssize_t sent = send_some(socket_.get(), left);
    if (sent >= 0) {
      left = left.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
      // Why the server hung up may have come before that.
      const int error = errno;
      if (!arrived_.empty() || (read_some().ok() && !arrived_.empty())) {
        if (const Frame& last = arrived_.back(); last.type == FrameType::refused) return fail(refusal_of(last));
      }
      return fail(Code::io, reason_of(error));
    } else if (!wait_for(socket_.get(), POLLOUT, deadline)) {
      return fail(Code::io, fmt::format("it took no request for {}", format_seconds(timeout_s_)));
    }
  }
  return {};
}

Result<bool> Connection::read_some() {
  if (!failure_) return failure_;
  std::array<std::byte, 4096> buffer;
  const ssize_t got = receive_some(socket_.get(), buffer, &descriptor_);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (got <= 0) return fail(Code::io, got == 0 ? "it closed the connection" : reason_of(errno));
  std::span<const std::byte> data{buffer.data(), static_cast<std::size_t>(got)};
  while (!data.empty()) {
    auto frame = decoder_.take(data);
    if (!frame) return fail(frame.status());
    if (!*frame) continue;
    if ((*frame)->sequence == beat_ && beat_ != 0)
      beat_ = 0;
    else
      arrived_.push_back(**std::move(frame));
  }
  return true;
}

Result<Frame> Connection::receive(const Deadline& deadline) {
  while (arrived_.empty()) {
    auto some = read_some();
    if (!some) return some.status();
    if (!*some && !wait_for(socket_.get(), POLLIN, deadline))
      return fail(Code::io, fmt::format("no answer for {}", format_seconds(timeout_s_)));
  }
  Frame frame = std::move(arrived_.front());
  arrived_.pop_front();
  return frame;
}

Result<Frame> Connection::ask(std::uint16_t type, std::span<const std::byte> payload) {
  const Deadline deadline = Deadline::in(timeout_s_);
  for (int attempts = 0; attempts < most_attempts; ++attempts) {
    if (Status status = send(type, payload, deadline); !status) return status;
    for (;;) {
      auto frame = receive(deadline);
      if (!frame) return frame;
      if (frame->type == FrameType::refused && frame->sequence == 0) return fail(refusal_of(*frame));
      if (frame->sequence != sequence_) continue;
      if (frame->damaged) return fail(Code::corrupt, "its answer is damaged");
      if (frame->type == FrameType::again) break;
      if (frame->type == FrameType::refused) return refusal_of(*frame);
      return frame;
    }
  }
  return fail(Code::corrupt, "messages arrive damaged");
}

Status Connection::look() {
  for (;;) {
    auto some = read_some();
    if (!some) return some.status();
    if (!*some) break;
  }
  // Nobody waits for an answer here: what has come is the server's last word, or late.
  for (const Frame& frame : arrived_)
    if (frame.type == FrameType::refused && frame.sequence == 0) return fail(refusal_of(frame));
  arrived_.clear();
  if (beat_ != 0) {
    if (answer_by_.is_over()) return fail(Code::io, fmt::format("no answer for {}", format_seconds(timeout_s_)));
  } else if (heartbeat_ != FrameType::none && next_beat_.is_over()) {
    next_beat_ = Deadline::in(timeout_s_ / beats_per_timeout);
    answer_by_ = Deadline::in(timeout_s_);
    if (Status status = send(heartbeat_, beat_payload_, answer_by_); !status) return status;
    beat_ = sequence_;
  }
  return {};
}

}  // namespace weir

#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <optional>
#include <string_view>

#include "net/contact_file.hpp"
#include "net/handshake.hpp"
#include "net/socket.hpp"

namespace weir::testing {

/// A connection on which a test can say anything.
class RawClient {
 public:
  explicit RawClient(const Contact& contact) : socket_{connect_to(contact.endpoint, Deadline::in(5)).value()} {}

  bool send(std::span<const std::byte> bytes) const {
    return send_some(socket_.get(), bytes) == static_cast<ssize_t>(bytes.size());
  }
  bool send(std::string_view text) const { return send(std::as_bytes(std::span{text.data(), text.size()})); }

  /// The next frame; nothing when the server hangs up, or says nothing for so long.
  std::optional<Frame> receive(double seconds = 5) {
    const Deadline deadline = Deadline::in(seconds);
    for (;;) {
      std::span<const std::byte> data{unread_};
      auto frame = decoder_.take(data);
      unread_.assign(data.begin(), data.end());
      if (!frame) return {};
      if (*frame) return **std::move(frame);
      std::array<std::byte, 4096> buffer;
      if (!wait_for(socket_.get(), POLLIN, deadline)) return {};
      const ssize_t got = receive_some(socket_.get(), buffer);
      if (got <= 0) return {};
      unread_.insert(unread_.end(), buffer.begin(), buffer.begin() + got);
    }
  }
  /// Whether the server has, though it may have said something before.
  [[nodiscard]] bool has_hung_up() const {
    pollfd state{socket_.get(), 0, 0};
    return ::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) != 0;
  }
  /// Whether the server hangs up in time.
  [[nodiscard]] bool is_closed(double seconds) const {
    const Deadline deadline = Deadline::in(seconds);
    std::array<std::byte, 4096> buffer;
    while (wait_for(socket_.get(), POLLIN, deadline))
      if (receive_some(socket_.get(), buffer) <= 0) return true;
    return false;
  }
  /// Proves who it is; the next request has sequence 2.
  bool greet(const Contact& contact) {
    const Credentials own{contact.job, contact.nonce, ~0ULL, {}, "client"};
    ClientHandshake handshake{own};
    const auto hello = handshake.begin().value();
    if (!send(encode_frame(hello.type, 1, hello.payload))) return false;
    const auto welcome = receive();
    return welcome && welcome->type == FrameType::welcome;
  }

 private:
  Descriptor socket_;
  FrameDecoder decoder_{1U << 20};
  std::vector<std::byte> unread_;
};

}  // namespace weir::testing

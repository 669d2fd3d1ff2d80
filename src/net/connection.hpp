#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <weir/status.hpp>

#include "core/descriptor.hpp"
#include "net/contact_file.hpp"
#include "net/deadline.hpp"
#include "net/frame.hpp"
#include "net/handshake.hpp"

namespace weir {

/// A client's connection to a server that both sides have proved themselves on. One thread at a time. Once it has
/// failed, or a request was not answered in time, it stays failed and says why.
class Connection {
 public:
  struct Options {
    std::uint64_t features = 0;
    std::string role = "client";
    std::string secret;     ///< a file, "munge" or "munge:SOCKET"; "": none
    double timeout_s = 10;  ///< of every wait
  };

  static Result<std::unique_ptr<Connection>> open(const Contact& contact, const Options& options);

  /// Sends a request and waits for its answer.
  Result<Frame> ask(std::uint16_t type, std::span<const std::byte> payload);
  /// Looks, without waiting, whether the server is still there and answers.
  Status look();
  /// A request that `look` uses to find out whether the server is alive; what the payload is then, is sent.
  void set_heartbeat(std::uint16_t type, std::span<const std::byte> payload) noexcept {
    heartbeat_ = type;
    beat_payload_ = payload;
  }

  /// The descriptor that came with the last answer.
  Descriptor take_descriptor() noexcept { return std::move(descriptor_); }
  /// For something else than requests, when there is no answer under way; no request can be made any more.
  Descriptor take_socket() noexcept { return std::move(socket_); }
  [[nodiscard]] const Agreement& agreement() const noexcept { return agreement_; }
  [[nodiscard]] const std::string& server() const noexcept { return name_; }

 private:
  Connection(Descriptor socket, const Contact& contact, double timeout_s);

  Status agree(const Credentials& credentials, const Deadline& deadline);
  Status send(std::uint16_t type, std::span<const std::byte> payload, const Deadline& deadline);
  Result<Frame> receive(const Deadline& deadline);
  /// Takes what is there; false when nothing is.
  Result<bool> read_some();
  Status fail(Status reason) noexcept;
  Status fail(Code code, std::string_view reason) noexcept;

  Descriptor socket_;
  std::string name_;
  double timeout_s_;
  Agreement agreement_;
  FrameDecoder decoder_;
  std::deque<Frame> arrived_;
  Descriptor descriptor_;
  std::uint64_t sequence_ = 0;
  std::uint16_t heartbeat_ = FrameType::none;
  std::span<const std::byte> beat_payload_;
  std::uint64_t beat_ = 0;                  ///< sequence of a heartbeat that is not answered; 0: none is
  Deadline answer_by_ = Deadline::never();  ///< of that
  Deadline next_beat_ = Deadline::in(0);
  Status failure_;
};

}  // namespace weir

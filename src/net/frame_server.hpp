#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <weir/status.hpp>

#include "core/descriptor.hpp"
#include "net/deadline.hpp"
#include "net/endpoint.hpp"
#include "net/handshake.hpp"
#include "net/rate_limit.hpp"
#include "net/service.hpp"

namespace weir {

struct ServerLimits {
  double hello_s = 5;             ///< to prove who it is
  double progress_s = 30;         ///< to send the rest of a frame, or to take an answer
  double idle_s = 3600;           ///< after which a client that says nothing is given up
  std::size_t before_proof = 64;  ///< connections that have not proved anything yet
  std::size_t per_user = 256;
  std::size_t connections = 0;  ///< 0: half of the descriptors that the process may have
  std::uint64_t frame_bytes = 1U << 20;
  std::uint64_t queue_bytes = 1U << 20;  ///< of answers that a client has not taken
};

struct ServerCounters {
  std::uint64_t accepted = 0, refused = 0, dropped = 0, damaged = 0, requests = 0;
};

/// Carries requests of clients to a service: one thread, any number of connections, each of which can stop, stall, lie
/// or vanish without the others noticing.
class FrameServer {
 public:
  /// Listens. An address that other machines reach needs a secret.
  static Result<std::unique_ptr<FrameServer>> make(Endpoint endpoint, Credentials credentials,
                                                   const ServerLimits& limits, Service& service);
  ~FrameServer();

  /// Until `stop`.
  Status run();
  /// From any thread or signal handler.
  void stop() noexcept;

  /// Calls `ready` when a descriptor can be read, until it is forgotten.
  Status watch(int descriptor, std::function<void()> ready);
  void forget(int descriptor) noexcept;
  /// The socket of a session, for something else than requests; what is being answered is the last that is said here.
  Result<Descriptor> hand_over(std::uint64_t session) noexcept;
  /// Gives a client up, soon.
  void end(std::uint64_t session) noexcept;

  [[nodiscard]] const Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const ServerCounters& counters() const noexcept { return counters_; }

 private:
  struct Connection;
  using Connections = std::unordered_map<int, std::unique_ptr<Connection>>;

  FrameServer(Endpoint endpoint, Credentials credentials, const ServerLimits& limits, Service& service);

  Status prepare();
  void accept_some();
  bool make_room();
  void pause_accepting(bool pause) noexcept;
  void shed_one() noexcept;
  bool admit(Descriptor socket);
  [[nodiscard]] Status too_many() const noexcept;
  void serve(Connection& connection, std::uint32_t events);
  void receive(Connection& connection);
  void take(Connection& connection, const Frame& frame);
  void take_handshake(Connection& connection, const Frame& frame);
  void take_request(Connection& connection, const Frame& frame);
  void answer(Connection& connection, std::uint64_t sequence, Answer answer);
  void send_queued(Connection& connection);
  void refuse(Connection& connection, const Status& reason);
  void drop(Connection& connection, std::string_view reason);
  void close_dropped();
  void expire();
  [[nodiscard]] int wait_ms() const noexcept;

  Endpoint endpoint_;
  Credentials credentials_;
  ServerLimits limits_;
  Service& service_;
  Descriptor epoll_, listener_, wake_, spare_;
  std::atomic<bool> stopping_{false};
  bool paused_ = false;
  Connections connections_;
  std::vector<int> dropped_;
  std::unordered_map<int, std::function<void()>> watched_;
  std::unordered_map<std::uint32_t, std::size_t> per_user_;
  std::size_t before_proof_ = 0;
  std::uint64_t next_session_ = 1;
  Deadline next_look_ = Deadline::in(0);
  ServerCounters counters_;
  RateLimit log_rate_{5};
};

}  // namespace weir

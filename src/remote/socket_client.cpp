#include "remote/socket_client.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "core/errors.hpp"
#include "net/service.hpp"
#include "remote/data_sum.hpp"
#include "remote/server_link.hpp"
#include "remote/transfer_heading.hpp"

namespace weir {
namespace {

class SocketClient final : public DataClient {
 public:
  SocketClient(const Contact& contact, const RemoteOptions& options) : contact_{contact}, options_{options} {}

  Result<std::unique_ptr<RemoteRegion>> open(std::shared_ptr<ServerLink> link, const RegionAnswer& answer) override;

  bool progress() noexcept override {
    if (!socket_) return false;
    const bool sent = send();
    return receive() || sent;
  }
  pollfd news() noexcept override {
    return {socket_.get(), static_cast<short>(requests_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
  }
  [[nodiscard]] std::size_t pending() const noexcept override { return requests_.size() + answers_.size(); }
  Status flush() noexcept override;
  Status failure() noexcept override { return failure_; }
  void give_up() noexcept override { lose("it was given up"); }
  [[nodiscard]] std::uint64_t long_piece() const noexcept override { return 4096; }

  Status put(std::uint64_t region, std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept;
  Status get(std::uint64_t region, std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept;

 private:
  static constexpr std::size_t most_parts = 128;      // of one call of the system
  static constexpr std::uint64_t enough = 256 << 10;  // bytes, to send them at once

  /// A part of what is to be sent: a heading, or data of a put.
  struct Outgoing {
    const std::byte* data;
    std::uint64_t bytes;
    bool is_heading;
  };
  /// A part of what the server will send: where it goes. None: the checksum of a get of so many bytes, or the number of a
  /// settle.
  struct Awaited {
    std::byte* data;
    std::uint64_t bytes;
    std::uint64_t number = 0, stretch = 0;
  };

  Status connect(const Ticket& ticket);
  /// The heading of a request for a stretch: one that ends where this begins becomes longer.
  void head(TransferVerb verb, std::uint64_t region, std::uint64_t offset, std::uint64_t bytes);
  /// Nothing that is written behind it belongs to the last heading any more.
  void seal_last() noexcept;
  bool send() noexcept;
  bool receive() noexcept;
  void take_sent(std::uint64_t bytes) noexcept;
  void take_received(std::uint64_t bytes) noexcept;
  void lose(std::string_view reason) noexcept {
    if (failure_)
      failure_ = problem(
          Code::io, [&] { return fmt::format("lost the server at {}: {}", contact_.endpoint.text(), reason); },
          "see whether it still runs, and why not");
    socket_.reset();
    requests_.clear();
    headings_.clear();
    answers_.clear();
    last_ = nullptr;
  }
  template <class Work>
  Status started(Work&& work) noexcept {
    if (!failure_) return failure_;
    Status status = attempt("use remote memory", std::forward<Work>(work));
    if (!status) lose("no memory here for what is to be moved");  // perhaps half of it is noted
    return status;
  }

  const Contact contact_;
  const RemoteOptions options_;
  Descriptor socket_;
  std::deque<Outgoing> requests_;
  std::deque<TransferHeading> headings_;  // of these
  TransferHeading* last_ = nullptr;       // that may become longer
  Awaited* last_sum_ = nullptr;           // of it, where it is that of a get
  std::uint64_t sent_ = 0;                // of the first request
  std::uint64_t unsent_ = 0;
  std::deque<Awaited> answers_;
  std::uint64_t received_ = 0;  // of the first answer
  std::uint64_t settles_ = 0, settled_ = 0;
  DataSum sum_;  // of the get that is being received
  std::uint64_t right_sum_ = 0, left_ = 0;
  Status failure_;
};

class SocketRegion final : public RemoteRegion {
 public:
  SocketRegion(std::shared_ptr<ServerLink> link, SocketClient& client, const RegionAnswer& answer)
      : link_{std::move(link)}, client_{client}, id_{answer.region}, size_{answer.bytes} {}
  ~SocketRegion() override {
    (void)link_->settle();  // what was put is there before others may have the memory
    link_->release(id_);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::byte* mapped() const noexcept override { return nullptr; }

  Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept override {
    if (!is_inside(size_, offset, bytes)) return outside(size_, offset, bytes);
    if (bytes == 0) return {};
    link_->moved.put += bytes;
    return client_.put(id_, offset, data, bytes);
  }
  Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept override {
    if (!is_inside(size_, offset, bytes)) return outside(size_, offset, bytes);
    if (bytes == 0) return {};
    link_->moved.got += bytes;
    return client_.get(id_, offset, data, bytes);
  }

 private:
  std::shared_ptr<ServerLink> link_;
  SocketClient& client_;
  std::uint64_t id_, size_;
};

Status SocketClient::connect(const Ticket& ticket) {
  auto connection =
      Connection::open(contact_, {MemoryFeature::socket, Session::data_role, options_.secret, options_.timeout_s});
  if (!connection) return connection.status();
  auto joined = (*connection)->ask(MemoryMessage::join, ticket);
  if (!joined) return joined.status();
  socket_ = (*connection)->take_socket();
  return {};
}

Result<std::unique_ptr<RemoteRegion>> SocketClient::open(std::shared_ptr<ServerLink> link, const RegionAnswer& answer) {
  if (!failure_) return failure_;
  if (!socket_) {
    Ticket ticket;
    if (answer.key.size() != ticket.size())
      return problem(Code::corrupt, "cannot understand the answer of a memory server");
    std::memcpy(ticket.data(), answer.key.data(), ticket.size());
    if (Status status = connect(ticket); !status) return status;
  }
  return std::unique_ptr<RemoteRegion>{std::make_unique<SocketRegion>(std::move(link), *this, answer)};
}

void SocketClient::seal_last() noexcept {
  if (!last_) return;
  if (last_->verb == TransferVerb::put) {
    auto part = requests_.end();
    while (!(part - 1)->is_heading) --part;
    DataSum sum;
    for (; part != requests_.end(); ++part) sum.add({part->data, part->bytes});
    last_->data_sum = sum.value();
  }
  last_->seal();
  last_ = nullptr;
}

void SocketClient::head(TransferVerb verb, std::uint64_t region, std::uint64_t offset, std::uint64_t bytes) {
  if (last_ && last_->verb == verb && last_->region == region && last_->offset + last_->bytes == offset) {
    last_->bytes += bytes;
    if (verb == TransferVerb::get) last_sum_->stretch += bytes;
    return;
  }
  seal_last();
  last_ = &headings_.emplace_back();
  last_->verb = verb;
  last_->region = region;
  last_->offset = offset;
  last_->bytes = bytes;
  requests_.push_back({reinterpret_cast<const std::byte*>(last_), sizeof *last_, true});
  unsent_ += sizeof *last_;
  if (verb != TransferVerb::get) return;
  answers_.push_back({nullptr, sizeof(Awaited::number), 0, bytes});
  last_sum_ = &answers_.back();
}

Status SocketClient::put(std::uint64_t region, std::uint64_t offset, const std::byte* data,
                         std::uint64_t bytes) noexcept {
  return started([&]() -> Status {
    head(TransferVerb::put, region, offset, bytes);
    if (Outgoing& before = requests_.back(); !before.is_heading && before.data + before.bytes == data)
      before.bytes += bytes;
    else
      requests_.push_back({data, bytes, false});
    unsent_ += bytes;
    if (unsent_ >= enough) send();
    return failure_;
  });
}

Status SocketClient::get(std::uint64_t region, std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept {
  return started([&]() -> Status {
    head(TransferVerb::get, region, offset, bytes);
    answers_.push_back({data, bytes});
    return {};
  });
}

Status SocketClient::flush() noexcept {
  if (!socket_) return failure_;
  return started([&]() -> Status {
    head(TransferVerb::settle, 0, 0, ++settles_);
    seal_last();
    answers_.push_back({nullptr, sizeof(Awaited::number)});
    return {};
  });
}

bool SocketClient::send() noexcept {
  seal_last();
  bool moved = false;
  while (!requests_.empty() && socket_) {
    std::array<iovec, most_parts> parts;
    std::size_t count = 0;
    std::uint64_t skip = sent_, whole = 0;
    for (auto request = requests_.begin(); request != requests_.end() && count < parts.size(); ++request) {
      parts[count++] = {const_cast<std::byte*>(request->data) + skip, request->bytes - skip};
      whole += request->bytes - std::exchange(skip, 0);
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return lose(reason_of(errno)), true;
    if (sent < 0) break;
    moved = true;
    take_sent(static_cast<std::uint64_t>(sent));
    if (static_cast<std::uint64_t>(sent) < whole) break;
  }
  return moved;
}

void SocketClient::take_sent(std::uint64_t bytes) noexcept {
  unsent_ -= bytes;
  while (bytes > 0) {
    const std::uint64_t left = requests_.front().bytes - sent_;
    if (bytes < left) {
      sent_ += bytes;
      return;
    }
    bytes -= left;
    sent_ = 0;
    if (requests_.front().is_heading) headings_.pop_front();
    requests_.pop_front();
  }
}

bool SocketClient::receive() noexcept {
  bool moved = false;
  while (!answers_.empty() && socket_) {
    std::array<iovec, most_parts> parts;
    std::size_t count = 0;
    std::uint64_t skip = received_, whole = 0;
    for (auto answer = answers_.begin(); answer != answers_.end() && count < parts.size(); ++answer) {
      std::byte* const data = answer->data ? answer->data : reinterpret_cast<std::byte*>(&answer->number);
      parts[count++] = {data + skip, answer->bytes - skip};
      whole += answer->bytes - std::exchange(skip, 0);
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) return lose(got == 0 ? "it closed the connection for data" : reason_of(errno)), true;
    moved = true;
    take_received(static_cast<std::uint64_t>(got));
    if (static_cast<std::uint64_t>(got) < whole) break;
  }
  return moved;
}

void SocketClient::take_received(std::uint64_t bytes) noexcept {
  while (bytes > 0) {
    const Awaited first = answers_.front();
    const std::uint64_t came = std::min(bytes, first.bytes - received_);
    if (first.data) sum_.add({first.data + received_, came});
    bytes -= came;
    received_ += came;
    if (received_ < first.bytes) return;
    received_ = 0;
    answers_.pop_front();
    if (first.data) {
      left_ -= first.bytes;
      if (left_ == 0 && sum_.value() != right_sum_) return lose("data was damaged on its way");
    } else if (first.stretch > 0) {
      right_sum_ = first.number;
      left_ = first.stretch;
      sum_.restart();
    } else if (first.number != ++settled_) {
      return lose("its answers are not those to the requests");
    }
  }
}

}  // namespace

std::unique_ptr<DataClient> make_socket_client(const Contact& contact, const RemoteOptions& options) {
  return std::make_unique<SocketClient>(contact, options);
}

}  // namespace weir

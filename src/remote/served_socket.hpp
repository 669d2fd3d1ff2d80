#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>

#include "core/descriptor.hpp"
#include "remote/data_sum.hpp"
#include "remote/transfer_heading.hpp"

namespace weir {

/// One client's regions, and the socket over which it puts and gets. Keeps no bytes but those that have just come:
/// while the client takes no answers, nothing is read from it. Any thread may call it.
class ServedSocket {
 public:
  /// `watcher` is an epoll instance: it tells of `tag` when this is to serve.
  ServedSocket(int watcher, std::uint64_t tag) noexcept : watcher_{watcher}, tag_{tag} {}
  ~ServedSocket() { close(); }

  void lend(std::uint64_t region, std::span<std::byte> memory);
  /// A client that still moves it has its socket closed.
  void free(std::uint64_t region) noexcept;
  /// False when it had one already, or cannot be watched.
  bool open(Descriptor socket) noexcept;
  void close() noexcept;

  /// Does what there is to do, but not for ever.
  void serve() noexcept;

 private:
  struct Answer {
    std::uint64_t number;  ///< goes first: of a settle, or the checksum of the data
    std::span<const std::byte> data;
    std::uint64_t region;
    bool summed;
  };

  enum class Wants { request, room, end };

  Wants work() noexcept;
  bool watch(int operation, std::uint32_t events) noexcept;
  void hang_up() noexcept;
  bool take_heading() noexcept;
  bool receive(bool& drained) noexcept;
  bool send(bool& full) noexcept;
  void take_sent(std::uint64_t bytes) noexcept;
  bool take_data(std::uint64_t bytes) noexcept;
  [[nodiscard]] std::size_t unread() const noexcept { return in_end_ - in_begin_; }

  const int watcher_;
  const std::uint64_t tag_;
  std::mutex mutex_;
  Descriptor socket_;
  bool opened_ = false;
  std::unordered_map<std::uint64_t, std::span<std::byte>> regions_;
  std::array<std::byte, 4096> in_;  // requests, and the beginning of data
  std::size_t in_begin_ = 0, in_end_ = 0;
  std::span<std::byte> put_;  // where data goes that is under way
  std::uint64_t put_region_ = 0;
  DataSum put_sum_;
  std::uint64_t right_sum_ = 0;
  std::array<Answer, 64> answers_;
  std::size_t first_ = 0, last_ = 0;  // of these
  std::uint64_t sent_ = 0;            // of the first
};

}  // namespace weir

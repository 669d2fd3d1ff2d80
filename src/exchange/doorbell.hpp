#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

/// Sleeps until `word` differs from `seen`, for a second at most; wakes early without cause at times. Works between
/// processes that share the memory.
void sleep_while_equal(std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept;
void wake_all(std::atomic<std::uint32_t>& word) noexcept;

/// Seconds of a clock that never goes back.
double clock_s() noexcept;

/// How long a waiter polls, giving way to others each time, before it should sleep.
class Patience {
 public:
  explicit Patience(double seconds) noexcept : seconds_{seconds} {}
  /// Gives way and is true, until the time is over.
  bool poll() noexcept;
  /// For who waits for what cannot wake it, such as messages: gives way, and after ten times as long sleeps a little each
  /// time. A scheduler may keep others from a core for long where somebody only gives way.
  void pause() noexcept;
  /// Something came: the time starts anew.
  void renew() noexcept { since_ = 0; }

 private:
  double seconds_;
  double since_ = 0;
};

/// Lets one process sleep until another has changed something it waits for.
///
/// The waiter reads `seen = listen()`, looks whether what it wants has come, and if not calls `sleep(seen)`.
class Doorbell {
 public:
  void ring() noexcept {
    rings_.fetch_add(1);
    if (sleeping_.load()) wake_all(rings_);
  }
  [[nodiscard]] std::uint32_t listen() noexcept { return rings_.load(); }
  void sleep(std::uint32_t seen) noexcept {
    sleeping_.store(1);
    sleep_while_equal(rings_, seen);
    sleeping_.store(0);
  }

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> sleeping_{0};
};

}  // namespace weir

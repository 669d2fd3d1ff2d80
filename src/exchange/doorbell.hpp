#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace weir {

/// Sleeps until `word` differs from `seen`, but not for longer; wakes early without cause at times. Works between
/// processes that share the memory. False when it slept for the whole time.
bool sleep_while_equal(std::atomic<std::uint32_t>& word, std::uint32_t seen, double most_s) noexcept;
void wake_all(std::atomic<std::uint32_t>& word) noexcept;

/// Seconds of a clock that never goes back.
double clock_s() noexcept;

/// How long a waiter polls, giving way to others each time, before it should sleep.
class Patience {
 public:
  explicit Patience(double seconds) noexcept : seconds_{seconds} {}
  /// Gives way and is true, until the time is over.
  bool poll() noexcept;
  /// For who waits for what cannot wake it, such as messages: gives way, and after ten times as long sleeps a little
  /// each time. A scheduler may keep others from a core for long where somebody only gives way.
  void pause() noexcept;
  /// Something came: the time starts anew.
  void renew() noexcept { since_ = 0; }

 private:
  double seconds_;
  double since_ = 0;
};

/// Each of the naps of who waits is longer than the one before, to a point.
class Nap {
 public:
  double next_s() noexcept { return std::exchange(next_s_, std::min(2 * next_s_, longest_s)); }
  /// Something came: short ones again.
  void renew() noexcept { next_s_ = shortest_s; }

 private:
  static constexpr double shortest_s = 1e-3, longest_s = 20e-3;
  double next_s_ = shortest_s;
};

/// Lets one process sleep until another has changed something it waits for.
///
/// The waiter reads `seen = listen()`, looks whether what it wants has come, and if not calls `sleep`.
class Doorbell {
 public:
  void ring() noexcept {
    rings_.fetch_add(1);
    if (sleeping_.load()) wake_all(rings_);
  }
  [[nodiscard]] std::uint32_t listen() noexcept { return rings_.load(); }
  bool sleep(std::uint32_t seen, double most_s) noexcept {
    sleeping_.store(1);
    const bool woken = sleep_while_equal(rings_, seen, most_s);
    sleeping_.store(0);
    return woken;
  }

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> sleeping_{0};
};

}  // namespace weir

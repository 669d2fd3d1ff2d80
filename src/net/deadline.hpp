#pragma once

#include <algorithm>
#include <chrono>

namespace weir {

/// A moment until which something must have happened.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline in(double seconds) {
    constexpr double most_s = 1e9;
    return Deadline{Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>{std::clamp(seconds, 0.0, most_s)})};
  }
  static Deadline never() { return Deadline{Clock::time_point::max()}; }

  [[nodiscard]] bool is_over() const { return Clock::now() >= at_; }
  /// For poll and epoll_wait: never early, at most a day.
  [[nodiscard]] int left_ms() const {
    constexpr std::chrono::milliseconds day{86'400'000};
    const auto now = Clock::now();
    if (now >= at_) return 0;
    if (at_ - now >= day) return static_cast<int>(day.count());
    return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(at_ - now).count()) + 1;
  }
  auto operator<=>(const Deadline&) const = default;

 private:
  explicit Deadline(Clock::time_point at) : at_{at} {}
  Clock::time_point at_;
};

}  // namespace weir

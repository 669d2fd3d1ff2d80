#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

namespace weir {

/// Lets through so many a second, and counts the rest.
class RateLimit {
 public:
  explicit RateLimit(unsigned per_second) : per_second_{per_second} {}

  bool allow() {
    const auto now = std::chrono::steady_clock::now();
    if (now - began_ >= std::chrono::seconds{1}) {
      began_ = now;
      passed_ = 0;
    }
    if (passed_ < per_second_) return ++passed_, true;
    ++held_back_;
    return false;
  }
  /// Since it was last asked.
  std::uint64_t held_back() noexcept { return std::exchange(held_back_, 0); }

 private:
  unsigned per_second_, passed_ = 0;
  std::uint64_t held_back_ = 0;
  std::chrono::steady_clock::time_point began_{};
};

}  // namespace weir

#pragma once

#include <chrono>

namespace weir {

/// Seconds since it was made.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Repeats `once`, which returns a value, at least once, until the time or the number is reached.
template <class Once>
void repeat(double seconds, int most, Once&& once, auto& values) {
  const Stopwatch all;
  do values.push_back(once());
  while (static_cast<int>(values.size()) < most && all.seconds() < seconds);
}

}  // namespace weir

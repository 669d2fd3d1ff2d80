#pragma once

#include "net/deadline.hpp"
#include "remote/protocol.hpp"

namespace weir {

/// Bytes a second between the last two times that a client told how much it has moved.
class TransferRates {
 public:
  void note(const Moved& moved) {
    const auto now = Deadline::Clock::now();
    const double seconds = std::chrono::duration<double>(now - noted_).count();
    if (noted_ != Deadline::Clock::time_point{} && seconds > 0) {
      put_rate_ = static_cast<double>(moved.put - moved_.put) / seconds;
      get_rate_ = static_cast<double>(moved.got - moved_.got) / seconds;
    }
    moved_ = moved;
    noted_ = now;
  }
  [[nodiscard]] const Moved& moved() const noexcept { return moved_; }
  [[nodiscard]] double put_rate() const noexcept { return put_rate_; }
  [[nodiscard]] double get_rate() const noexcept { return get_rate_; }

 private:
  Moved moved_;
  double put_rate_ = 0, get_rate_ = 0;
  Deadline::Clock::time_point noted_{};
};

}  // namespace weir

#include "exchange/doorbell.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace weir {

double clock_s() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool Patience::poll() noexcept {
  const double now = clock_s();
  if (since_ == 0) since_ = now;
  if (now - since_ >= seconds_) return false;
  sched_yield();
  return true;
}

void Patience::pause() noexcept {
  constexpr timespec little{0, 100'000};
  if (poll()) return;
  if (clock_s() - since_ < 10 * seconds_)
    sched_yield();
  else
    nanosleep(&little, nullptr);
}

bool sleep_while_equal(std::atomic<std::uint32_t>& word, std::uint32_t seen, double most_s) noexcept {
  const auto whole = static_cast<time_t>(most_s);
  const timespec most{whole, static_cast<long>(1e9 * (most_s - static_cast<double>(whole)))};
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, &most, nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}

void wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace weir

#include "host.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace weir::bench {

HostState host_state() {
  HostState state;
  std::ifstream{"/proc/loadavg"} >> state.load;

  std::ifstream stat{"/proc/stat"};
  std::string word;
  stat >> word;
  const auto ticks_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  // user nice system idle iowait irq softirq steal
  for (int column = 0; column < 8; ++column) {
    double ticks = 0;
    stat >> ticks;
    const double seconds = ticks / ticks_a_second;
    state.total_s += seconds;
    if (column == 7) state.steal_s = seconds;
    if (column != 3 && column != 4) state.busy_s += seconds;
  }

  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  for (const timeval& time : {usage.ru_utime, usage.ru_stime})
    state.jobs_s += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);

  std::ifstream memory{"/proc/meminfo"};
  while (memory >> word)
    if (word == "MemAvailable:" && memory >> state.available_bytes) state.available_bytes *= 1024;
  return state;
}

double steal_percent(const HostState& before, const HostState& after) {
  const double total = after.total_s - before.total_s;
  return total > 0 ? 100 * (after.steal_s - before.steal_s) / total : 0;
}

double others_percent(const HostState& before, const HostState& after) {
  const double total = after.total_s - before.total_s;
  const double others = after.busy_s - before.busy_s - (after.jobs_s - before.jobs_s);
  return total > 0 ? std::max(0.0, 100 * others / total) : 0;
}

}  // namespace weir::bench

#pragma once

#include <nlohmann/json.hpp>

namespace weir::bench {

/// How busy the machine is.
struct HostState {
  double load = 0;                              ///< runnable processes, mean of the last minute
  double busy_s = 0, steal_s = 0, total_s = 0;  ///< of all cores since the machine was started
  double jobs_s = 0;  ///< processor time of the jobs that this process has started and that have ended
  std::uint64_t available_bytes = 0;
};

HostState host_state();

/// The part of the time between two states that other machines on the same host took, in per cent.
double steal_percent(const HostState& before, const HostState& after);

/// The part of the time between two states in which the cores worked for others than the jobs that ended between them,
/// in per cent.
double others_percent(const HostState& before, const HostState& after);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostState, load, busy_s, steal_s, total_s, jobs_s, available_bytes)

}  // namespace weir::bench

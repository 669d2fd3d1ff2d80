#pragma once

#include "schedule.hpp"

namespace weir::sim {

/// What came of a schedule.
struct Outcome {
  std::vector<double> ends_s;            ///< by step
  std::map<int, std::uint64_t> carried;  ///< by resource that was used and is limited
  double end_s = 0;                      ///< of the last step
};

/// Carries a schedule out in SimGrid, in a process of its own. Fails by name in a build without SimGrid.
Outcome simulate(const Schedule& schedule);

}  // namespace weir::sim

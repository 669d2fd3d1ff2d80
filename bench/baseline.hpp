#pragma once

#include <string>
#include <vector>

namespace weir::bench {

/// Something to compare Weir with, and whether this build and this MPI have it.
struct Baseline {
  std::string name;                ///< "romio", "ompio", "posix", "sketch"; "dram": Weir there; "weir" is the control
  std::vector<std::string> flags;  ///< for the launcher
  std::string absent;              ///< why it cannot be had; empty when it can
};

/// romio, ompio and posix, in this order.
std::vector<Baseline> find_baselines();

/// The launcher and its flags for so many ranks, as found when Weir was built, or `given` instead of it.
std::vector<std::string> launcher(const std::string& given, int ranks);

}  // namespace weir::bench

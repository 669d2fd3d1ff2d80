#pragma once

#include <optional>
#include <string>
#include <vector>
#include <weir/status.hpp>

#include "machine/calibration.hpp"

namespace weir::tools {

struct Look {
  bool calibrate = false;     ///< measure now, whatever is stored
  double seconds = 10;
  std::string storage = ".";  ///< directory whose file system counts
};

/// The machine that this program runs on, alone or started by mpirun.
struct ThisMachine {
  Machine machine;
  NodeFacts node;             ///< what its nodes have in common
  Calibration calibration;    ///< empty when nothing was measured, now or earlier
  std::string calibrated;     ///< file that the measurements are kept in
  std::vector<std::string> warnings;
};

/// Collective over all processes that mpirun started; nothing on those that shall be silent.
Result<std::optional<ThisMachine>> look_at_this_machine(const Look& look);

/// What this node makes of the banks of a machine: real, emulated, or not to be had, a line each.
std::string banks_here(const Machine& machine);

/// Processors, caches, devices and measurements in words.
std::string hardware_text(const ThisMachine& here);

}  // namespace weir::tools

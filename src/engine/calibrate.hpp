#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "exchange/team.hpp"
#include "machine/calibration.hpp"
#include "remote/remote_memory.hpp"

namespace weir {

struct CalibrateOptions {
  double seconds = 10;          ///< about as long as it may take, without what a single slow transfer takes longer
  std::string storage = ".";    ///< a directory that all ranks can write in
  std::string cache;            ///< directory of stored calibrations; empty: the user's cache
  bool reuse = true;            ///< take a stored one
  RemoteOptions servers = {};   ///< of the bank of memory servers, where there is one
  /// Called on rank 0: what is measured next, and the part of all that is done.
  std::function<void(std::string_view what, double done)> progress;
};

struct Calibrated {
  Calibration calibration;
  bool loaded = false;                ///< from an earlier run
  std::vector<std::string> warnings;  ///< on rank 0: what could not be measured, used or stored, and why
};

/// Measures what a team runs on: messages inside a node and between nodes, banks, storage. The same figures on every
/// rank; of nodes that differ the slowest count, and storage is what all nodes get together. What cannot be measured,
/// for want of space or of a second rank, is left out. Collective, with no step under way.
///
/// Nodes that are only pretended share one memory and one storage, so only rank 0 measures these.
Result<Calibrated> calibrate(Team& team, const JoinedNodes& nodes, const CalibrateOptions& options);

/// What an earlier calibration left, and on rank 0 why it cannot be used, if so.
struct StoredCalibration {
  std::optional<Calibration> calibration;
  std::vector<std::string> warnings;
};

/// A stored calibration of this machine, if there is one. Collective.
Result<StoredCalibration> load_calibration(Team& team, const JoinedNodes& nodes, const CalibrateOptions& options);

/// A stored calibration of this machine, or a new one, which is then stored. One that is damaged or was made elsewhere
/// is told in the warnings and replaced. Collective.
Result<Calibrated> load_or_calibrate(Team& team, const JoinedNodes& nodes, const CalibrateOptions& options);

}  // namespace weir

#pragma once

#include "box/cephfs.hpp"
#include "box/state.hpp"

namespace weir::box {

/// Why this process cannot have boxes at all; nothing when it can.
void check_rights(const std::string& action);

/// Makes a box; what was made of it is taken down again when it fails. Throws `Error`.
State bring_up(const Order& order, const Progress& progress);

/// Ends everything that was started for a box, and removes its directory. A box that was left half made is fine.
void take_down(const State& state);

/// The command that starts a job on the compute hosts with the launcher of an MPI, for a process of the front end.
/// `words` are what the launcher is given, among them -n; a -- may stand before the program.
std::vector<std::string> launch_command(const State& state, const std::string& mpi,
                                        const std::vector<std::string>& words);

}  // namespace weir::box

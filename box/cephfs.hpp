#pragma once

#include <functional>

#include "box/state.hpp"

namespace weir::box {

/// Told what is being done, and how much of all of it is done, 0 .. 1.
using Progress = std::function<void(const std::string& what, double done)>;

/// CephFS with its data in the memory of the storage hosts, mounted on every compute host. Throws `Error`.
void start_cephfs(const State& state, const Progress& progress);

/// Programs that it takes and this machine lacks, with the package that has them.
std::vector<std::string> missing_for_cephfs();

}  // namespace weir::box

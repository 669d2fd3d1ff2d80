#pragma once

#include <string>
#include <vector>

namespace weir::sim {

/// What a program beside this one, which has SimGrid in it, prints. Fails by name in a build without SimGrid.
std::string run_worker(const std::string& name, const std::vector<std::string>& words, const std::string& input = {});

/// Whether this build can.
bool has_simulator() noexcept;

}  // namespace weir::sim

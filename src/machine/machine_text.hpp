#pragma once

#include <string>

#include "machine/machine.hpp"

namespace weir {

/// A machine for people: every number with its unit and where it comes from.
std::string machine_text(const Machine& machine);

/// "torus, shape [8, 12, 16, 16, 2]"; long lists are left out.
std::string topology_title(const Topology& topology);

}  // namespace weir

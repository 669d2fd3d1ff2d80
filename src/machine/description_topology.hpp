#pragma once

#include "machine/description_table.hpp"
#include "machine/topology.hpp"

namespace weir {

/// The table [topology] of a description; nothing when something is wrong with it.
TopologyPtr read_topology(const toml::table& table, DescriptionProblem& problem);

}  // namespace weir

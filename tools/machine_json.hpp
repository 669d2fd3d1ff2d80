#pragma once

#include <nlohmann/json.hpp>

#include "machine/machine.hpp"

namespace weir::tools {

/// A machine for programs: figures in SI units with their origin, null where nothing is known.
nlohmann::ordered_json machine_json(const Machine& machine);

}  // namespace weir::tools

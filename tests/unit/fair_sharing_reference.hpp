#pragma once

#include <vector>

#include "model/flows.hpp"

namespace weir {

/// When the last flow ends. Fair sharing written down as it is defined: all rates grow together until a link is full;
/// those on it stay; the rest go on growing. Slow and obvious.
double reference_finish_s(const Machine& machine, std::vector<Flow> flows);

}  // namespace weir

#pragma once

#include <simgrid/s4u.hpp>

namespace weir::sim {

/// For every node, before its first rank starts.
void prepare_waiting(const simgrid::s4u::Host* node);

}  // namespace weir::sim

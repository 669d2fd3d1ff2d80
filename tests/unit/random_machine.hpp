#pragma once

#include "machine/machine.hpp"

namespace weir {

/// Some machine of any kind, always the same for a seed.
Machine random_machine(unsigned seed);

}  // namespace weir

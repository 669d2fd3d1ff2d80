#pragma once

#include <optional>

#include "machine/machine.hpp"
#include "machine/make_topology.hpp"

namespace weir {

/// The kinds of memory that a bank can be.
const std::vector<std::string_view>& bank_kinds();

/// What does not fit together in a machine whose topology is made; its key is one of a description, such as
/// "io.bridges" or "bank" for the banks.
std::optional<Finding> check(const Machine& machine);

}  // namespace weir

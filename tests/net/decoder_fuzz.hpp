#pragma once

#include <cstddef>
#include <span>

namespace weir::testing {

/// Gives bytes to everything that reads what comes from a connection or a contact file. Must only return.
void read_as_everything(std::span<const std::byte> data);

}  // namespace weir::testing

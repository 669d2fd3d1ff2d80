#pragma once

#include <cstdint>

namespace weir {

/// The same for processes that can map one another's memory: those of one host in one process namespace.
std::uint64_t host_key() noexcept;

}  // namespace weir

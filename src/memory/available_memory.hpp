#pragma once

#include <cstdint>

#include "memory/shared_segment.hpp"

namespace weir {

/// Memory that can be taken now without anybody's process being ended for it: what the system calls available, less a
/// reserve, and within the control group's limit. 0 when there is none, or nobody tells.
std::uint64_t available_memory();

/// `SharedSegment::commit`, but an error where it would take more than `available` tells: the system itself gives
/// memory of this kind until there is none left, and then ends processes, of others too.
Status commit_within(SharedSegment& segment, std::uint64_t offset, std::uint64_t bytes, std::uint64_t (*available)());

}  // namespace weir

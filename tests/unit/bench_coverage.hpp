#pragma once

#include <cstdint>
#include <map>

#include "workload.hpp"

namespace weir::bench {

/// How many bytes of the file are declared 0, 1, 2 ... times, over all ranks.
std::map<int, std::uint64_t> coverage(const Workload& workload);

}  // namespace weir::bench

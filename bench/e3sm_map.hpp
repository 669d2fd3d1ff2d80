#pragma once

#include <string>
#include <vector>

#include "workload.hpp"

namespace weir::bench {

/// One decomposition of an E3SM-IO map file: for each rank of the recorded run its requests, in elements.
struct E3smMap {
  std::uint64_t elements = 0;
  std::vector<std::vector<Piece>> lists;
};

/// All decompositions of a map file, D1 first; each covers every element exactly once.
Result<std::vector<E3smMap>> read_e3sm_maps(const std::string& path);

}  // namespace weir::bench

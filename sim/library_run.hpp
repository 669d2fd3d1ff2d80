#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <weir/settings.hpp>

#include "workload.hpp"

namespace weir::sim {

/// A job of the library itself, with its own messages, on a simulated machine.
struct LibraryJob {
  std::string machine;  ///< as `find_machine` takes it
  int nodes = 1;
  int ranks_per_node = 1;
  std::string workload;
  bench::Parameters parameters;
  Settings settings;
};

/// A step that was planned before; contents were checked after reading.
struct LibraryRun {
  std::uint64_t plan = 0;  ///< its hash
  double write_s = 0, read_s = 0;
  std::map<int, std::uint64_t> carried;  ///< data by resource that is limited, when writing
};

LibraryRun run_library(const LibraryJob& job);

}  // namespace weir::sim

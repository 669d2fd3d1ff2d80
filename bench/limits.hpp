#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace weir::bench {

/// What no design can beat by much on this machine: medians of five, measured by rank 0 while the others sleep.
struct Limits {
  double memcpy_s = 0;  ///< all bytes copied once
  double write_s = 0;   ///< one process, plain write() of all bytes, open to close
  double read_s = 0;    ///< the same with read(), from a warm cache
};

/// Collective. Leaves no file.
Limits measure_limits(MPI_Comm communicator, const std::string& path, std::uint64_t bytes, bool existing);

}  // namespace weir::bench

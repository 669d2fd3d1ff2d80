#pragma once

#include <mpi.h>

namespace weir::tools {

/// MPI for as long as it is needed.
class MpiSession {
 public:
  MpiSession() { MPI_Init(nullptr, nullptr); }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession() { MPI_Finalize(); }
};

}  // namespace weir::tools

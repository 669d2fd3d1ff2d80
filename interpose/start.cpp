#include <mpi.h>

#include <algorithm>

#include "program.hpp"
#include "real.hpp"

/// MPI_Init of programs that begin non-blocking collective accesses: on several nodes a thread carries these out with
/// the others' through the MPI library, so that has to allow it.

using namespace weir::interpose;

#define SHOWN __attribute__((visibility("default")))

extern "C" {

SHOWN int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (!uses_background()) return real().Init_thread(argc, argv, required, provided);
  const int code = real().Init_thread(argc, argv, MPI_THREAD_MULTIPLE, provided);
  if (code == MPI_SUCCESS) *provided = std::min(*provided, required);  // some programs look for just what they asked
  return code;
}
SHOWN int MPI_Init_thread(int* argc, char*** argv, int required, int* provided)
    __attribute__((alias("PMPI_Init_thread")));

SHOWN int PMPI_Init(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  return uses_background() ? real().Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) : real().Init(argc, argv);
}
SHOWN int MPI_Init(int* argc, char*** argv) __attribute__((alias("PMPI_Init")));

}  // extern "C"

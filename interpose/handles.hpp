#pragma once

#include <mpi.h>

namespace weir::interpose {

/// Handles for files that the MPI library has not opened: each is one of its own, of an empty file of this process
/// alone, so that error handlers and Fortran's handles go with it. They are used again and again.
///
/// Null when none can be made.
MPI_File take_handle() noexcept;
void give_back(MPI_File handle) noexcept;
/// Before MPI ends.
void free_handles() noexcept;

}  // namespace weir::interpose

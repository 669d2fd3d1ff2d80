#pragma once

#include <mpi.h>

#include <weir/status.hpp>

namespace weir::interpose {

/// The error class that MPI has for a code.
int error_class(Code code) noexcept;

/// The error code for a status: MPI_Error_string gives its message where the library keeps it.
int error_code(const Status& status) noexcept;

}  // namespace weir::interpose

#pragma once

namespace weir::interpose {

/// Whether any program or library that is loaded, except the MPI library itself, calls functions of shared file
/// pointers. Only then must the MPI library know of every view at once: those functions may be called by one rank
/// alone, and telling it needs all.
bool uses_shared_pointers() noexcept;
/// And the same for non-blocking collective accesses: then ranks must be ready for one another from the beginning.
bool uses_background() noexcept;
/// And for lists of boxes that are given to PnetCDF.
bool uses_lists() noexcept;
/// Whether this rank may call MPI in several threads at once.
bool mpi_allows_threads() noexcept;

}  // namespace weir::interpose

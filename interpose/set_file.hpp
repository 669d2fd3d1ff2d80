#pragma once

#include "transfer.hpp"

/// What is different about files that are sets of sub-files. The MPI library knows nothing of them, so all that Weir
/// cannot do with them is an error.
namespace weir::interpose {

/// Whether a set is at `path`.
bool is_set(const std::string& path) noexcept;
/// Removes the sub-files of the set at `path`, if there is one, and leaves its index.
void remove_sub_files(const std::string& path) noexcept;

/// Weir's file for a direction. Collective.
Result<File> open_in_set(OpenFile& file, Context& context, Way way);
/// Finds out how far a set that is complete reaches. Collective.
Status measure_set(OpenFile& file);
/// Only 0 is possible, and makes place for a new set. Collective.
Status set_size_of_set(OpenFile& file, MPI_Offset size);

/// Ends what this rank reads without the others.
void close_own_reader(OpenFile& file);

/// What this rank does alone, blocking or not. Without an offset it is at the file pointer.
int alone_in_set(OpenFile& file, const MPI_Offset* at, Access access, MPI_Status* status);
int begin_alone_in_set(OpenFile& file, const MPI_Offset* at, Access access, MPI_Request* request);
/// A non-blocking collective access.
int begin_in_set(OpenFile& file, const MPI_Offset* at, Access access, MPI_Request* request);

/// The error of what cannot be done with a set; `reason` may be null.
Status not_in_a_set(const OpenFile& file, const char* reason);

}  // namespace weir::interpose

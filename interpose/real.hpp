#pragma once

#include <mpi.h>

namespace weir::interpose {

/// Every call that is taken over or counted.
#define WEIR_FILE_CALLS(CALL)                                                                                   \
  CALL(open) CALL(close) CALL(set_view) CALL(set_atomicity) CALL(get_info) CALL(seek) CALL(get_position)        \
  CALL(get_view) CALL(get_byte_offset) CALL(seek_shared) CALL(get_position_shared)                             \
  CALL(read_at_all) CALL(write_at_all) CALL(read_all) CALL(write_all)                                           \
  CALL(read_at_all_begin) CALL(read_at_all_end) CALL(write_at_all_begin) CALL(write_at_all_end)                 \
  CALL(read_all_begin) CALL(read_all_end) CALL(write_all_begin) CALL(write_all_end)                             \
  CALL(iread_at_all) CALL(iwrite_at_all) CALL(iread_all) CALL(iwrite_all)                                       \
  CALL(read_at) CALL(write_at) CALL(iread_at) CALL(iwrite_at) CALL(read) CALL(write) CALL(iread) CALL(iwrite)   \
  CALL(read_shared) CALL(write_shared) CALL(iread_shared) CALL(iwrite_shared)                                   \
  CALL(read_ordered) CALL(write_ordered) CALL(read_ordered_begin) CALL(write_ordered_begin)

/// The calls as the MPI library has them. Both MPI_File_x and PMPI_File_x are taken over, since Fortran bindings and
/// profiling tools call the latter.
struct Real {
#define WEIR_MEMBER(name) decltype(&::MPI_File_##name) name;
  WEIR_FILE_CALLS(WEIR_MEMBER)
#undef WEIR_MEMBER
};
const Real& real() noexcept;

/// How deep this thread is in the MPI library: what that calls itself is none of ours.
inline thread_local int inside_library = 0;

/// While it lives, this thread is in the MPI library.
struct Library {
  Library() noexcept { ++inside_library; }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { --inside_library; }
};

/// Calls the MPI library.
template <class Function, class... Arguments>
int pass(Function function, Arguments... arguments) {
  const Library inside;
  return function(arguments...);
}

}  // namespace weir::interpose

#pragma once

#include <mpi.h>

namespace weir::interpose {

/// Every call that is taken over or counted: those that move data, in MPI 4 also with large counts, and others.
#define WEIR_DATA_CALLS(CALL, SIZED)                                                                                   \
  CALL(SIZED(read_at_all))                                                                                             \
  CALL(SIZED(write_at_all))                                                                                            \
  CALL(SIZED(read_all))                                                                                                \
  CALL(SIZED(write_all))                                                                                               \
  CALL(SIZED(read_at_all_begin))                                                                                       \
  CALL(SIZED(write_at_all_begin))                                                                                      \
  CALL(SIZED(read_all_begin))                                                                                          \
  CALL(SIZED(write_all_begin)) CALL(SIZED(iread_at_all)) CALL(SIZED(iwrite_at_all)) CALL(SIZED(iread_all))             \
      CALL(SIZED(iwrite_all)) CALL(SIZED(read_at)) CALL(SIZED(write_at)) CALL(SIZED(iread_at)) CALL(SIZED(iwrite_at))  \
          CALL(SIZED(read)) CALL(SIZED(write)) CALL(SIZED(iread)) CALL(SIZED(iwrite)) CALL(SIZED(read_shared))         \
              CALL(SIZED(write_shared)) CALL(SIZED(iread_shared)) CALL(SIZED(iwrite_shared)) CALL(SIZED(read_ordered)) \
                  CALL(SIZED(write_ordered)) CALL(SIZED(read_ordered_begin)) CALL(SIZED(write_ordered_begin))
#define WEIR_PLAIN(name) name
#define WEIR_LARGE(name) name##_c
#if MPI_VERSION >= 4
#define WEIR_LARGE_DATA_CALLS(CALL) WEIR_DATA_CALLS(CALL, WEIR_LARGE)
#else
#define WEIR_LARGE_DATA_CALLS(CALL)
#endif
#define WEIR_FILE_CALLS(CALL)                                                                                      \
  CALL(open)                                                                                                       \
  CALL(close)                                                                                                      \
  CALL(set_view)                                                                                                   \
  CALL(get_view)                                                                                                   \
  CALL(set_atomicity)                                                                                              \
  CALL(get_info)                                                                                                   \
  CALL(seek)                                                                                                       \
  CALL(get_position) CALL(get_byte_offset) CALL(seek_shared) CALL(get_position_shared) CALL(read_at_all_end)       \
      CALL(write_at_all_end) CALL(read_all_end) CALL(write_all_end) CALL(read_ordered_end) CALL(write_ordered_end) \
          CALL(get_size) CALL(set_size) CALL(preallocate) CALL(sync) CALL(get_group) CALL(get_amode)               \
              CALL(get_atomicity) CALL(get_type_extent) CALL(set_info) WEIR_DATA_CALLS(CALL, WEIR_PLAIN)           \
                  WEIR_LARGE_DATA_CALLS(CALL)

/// The calls that complete requests.
#define WEIR_REQUEST_CALLS(CALL) \
  CALL(Wait)                     \
  CALL(Waitall)                  \
  CALL(Waitany) CALL(Waitsome) CALL(Test) CALL(Testall) CALL(Testany) CALL(Testsome) CALL(Request_get_status)

/// And those that begin it all.
#define WEIR_START_CALLS(CALL) CALL(Init) CALL(Init_thread)

/// Those about datatypes.
#define WEIR_SMALL_TYPE_CALLS(CALL) CALL(Type_create_hindexed) CALL(Type_get_envelope) CALL(Type_get_contents)
#if MPI_VERSION >= 4
#define WEIR_TYPE_CALLS(CALL) WEIR_SMALL_TYPE_CALLS(CALL) CALL(Type_get_envelope_c) CALL(Type_get_contents_c)
#else
#define WEIR_TYPE_CALLS(CALL) WEIR_SMALL_TYPE_CALLS(CALL)
#endif

/// The calls as the MPI library has them. Both MPI_File_x and PMPI_File_x are taken over, since Fortran bindings and
/// profiling tools call the latter.
struct Real {
#define WEIR_MEMBER(name) WEIR_MEMBER_(name)
#define WEIR_MEMBER_(name) decltype(&::MPI_File_##name) name;
  WEIR_FILE_CALLS(WEIR_MEMBER)
#undef WEIR_MEMBER
#undef WEIR_MEMBER_
#define WEIR_MEMBER(name) decltype(&::MPI_##name) name;
  WEIR_REQUEST_CALLS(WEIR_MEMBER)
  WEIR_START_CALLS(WEIR_MEMBER)
  WEIR_TYPE_CALLS(WEIR_MEMBER)
#undef WEIR_MEMBER
  decltype(&::MPI_File_delete) remove;
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

#include <mpi.h>

#include "access.hpp"

/// The entry points: MPI_File_x and PMPI_File_x are one function. To take over a call is a line here and a word in
/// WEIR_FILE_CALLS.

using namespace weir::interpose;

#define SHOWN __attribute__((visibility("default")))
#define CALLED(name) CALLED_(name)
#define CALLED_(name) PMPI_File_##name
#define CALL(name, parameters, arguments, body) CALL_(name, parameters, arguments, body)
#define CALL_(name, parameters, arguments, body)          \
  SHOWN int PMPI_File_##name parameters {                 \
    if (inside_library > 0) return real().name arguments; \
    [[maybe_unused]] const auto passing = [&] {           \
      const Library inside;                               \
      return real().name arguments;                       \
    };                                                    \
    return body;                                          \
  }                                                       \
  SHOWN int MPI_File_##name parameters __attribute__((alias("PMPI_File_" #name)));

#define SPLIT_END(name, address)                                                                 \
  CALL(name##_end, (MPI_File file, address buffer, MPI_Status * status), (file, buffer, status), \
       end_split(file, status, passing))

extern "C" {

CALL(open, (MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* file),
     (communicator, path, mode, info, file), open(communicator, path, mode, info, file, passing))
SHOWN int PMPI_File_delete(const char* path, MPI_Info info) {
  if (path && inside_library == 0) remove_sub_files(absolute_name(path));
  return pass(real().remove, path, info);
}
SHOWN int MPI_File_delete(const char* path, MPI_Info info) __attribute__((alias("PMPI_File_delete")));
CALL(close, (MPI_File * file), (file), close(file))
CALL(set_view,
     (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type, const char* representation, MPI_Info info),
     (file, at, element, type, representation, info), set_view(file, at, element, type, representation, info, passing))
CALL(get_view, (MPI_File file, MPI_Offset* at, MPI_Datatype* element, MPI_Datatype* type, char* representation),
     (file, at, element, type, representation), get_view(file, at, element, type, representation, passing))
CALL(set_atomicity, (MPI_File file, int on), (file, on), set_atomicity(file, on, passing))
CALL(get_info, (MPI_File file, MPI_Info* info), (file, info), get_info(file, info, passing))
CALL(set_info, (MPI_File file, MPI_Info info), (file, info), set_info(file, info, passing))
CALL(get_size, (MPI_File file, MPI_Offset* size), (file, size),
     known(
         file, size, [&](OpenFile& known) { return size_of(known, size); }, passing))
CALL(set_size, (MPI_File file, MPI_Offset size), (file, size),
     done_together(
         file, size >= 0, [&](OpenFile& known) { return set_size(known, size); }, passing))
CALL(preallocate, (MPI_File file, MPI_Offset size), (file, size),
     together(file, "preallocate", "nothing to move", passing))
CALL(sync, (MPI_File file), (file),
     synchronised(done_together(
                      file, true, [](OpenFile& known) { return sync(known); }, passing),
                  file))
CALL(get_group, (MPI_File file, MPI_Group* group), (file, group),
     known(
         file, group, [&](OpenFile& known) { return group_of(known, group); }, passing))
CALL(get_amode, (MPI_File file, int* mode), (file, mode),
     known(
         file, mode, [&](OpenFile& known) { return *mode = known.mode, MPI_SUCCESS; }, passing))
CALL(get_atomicity, (MPI_File file, int* on), (file, on),
     known(
         file, on, [&](OpenFile& known) { return *on = known.atomic, MPI_SUCCESS; }, passing))
CALL(get_type_extent, (MPI_File file, MPI_Datatype type, MPI_Aint* extent), (file, type, extent),
     known(
         file, nullptr, [](OpenFile&) { return MPI_SUCCESS; }, passing))
CALL(seek, (MPI_File file, MPI_Offset at, int from), (file, at, from), seek(file, at, from, passing))
CALL(get_position, (MPI_File file, MPI_Offset* at), (file, at), get_position(file, at, passing))
CALL(get_byte_offset, (MPI_File file, MPI_Offset at, MPI_Offset* byte), (file, at, byte),
     get_byte_offset(file, at, byte, passing))
CALL(seek_shared, (MPI_File file, MPI_Offset at, int from), (file, at, from), together(file, nullptr, "", passing))
CALL(get_position_shared, (MPI_File file, MPI_Offset* at), (file, at),
     at_shared_pointer(file, "get_position_shared", passing))

SPLIT_END(read_at_all, void*)
SPLIT_END(write_at_all, const void*)
SPLIT_END(read_all, void*)
SPLIT_END(write_all, const void*)
SPLIT_END(read_ordered, void*)
SPLIT_END(write_ordered, const void*)

#define COUNT int
#define SIZED(name) name
#include "data_calls.inc"
#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define SIZED(name) name##_c
#include "data_calls.inc"
#endif

}  // extern "C"

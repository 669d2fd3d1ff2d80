#include <mpi.h>

#include "access.hpp"

/// The entry points: MPI_File_x and PMPI_File_x are one function. To take over a call is a line here and a word in
/// WEIR_FILE_CALLS.

using namespace weir::interpose;

#define SHOWN __attribute__((visibility("default")))
#define CALL(name, parameters, arguments, body)                         \
  SHOWN int PMPI_File_##name parameters {                                     \
    if (inside_library > 0) return real().name arguments;               \
    [[maybe_unused]] const auto passing = [&] {                         \
      const Library inside;                                             \
      return real().name arguments;                                     \
    };                                                                  \
    return body;                                                        \
  }                                                                     \
  SHOWN int MPI_File_##name parameters __attribute__((alias("PMPI_File_" #name)));

#define ACCESS(name, way) Access{Way::way, #name, 0, const_cast<void*>(buffer), count, type}

#define COLLECTIVE_AT(name, way, address)                                                                            \
  CALL(name, (MPI_File file, MPI_Offset at, address buffer, int count, MPI_Datatype type, MPI_Status* status),       \
       (file, at, buffer, count, type, status), collective(file, &at, ACCESS(name, way), finish(status), passing))
#define COLLECTIVE(name, way, address)                                                               \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type, MPI_Status* status),      \
       (file, buffer, count, type, status), collective(file, nullptr, ACCESS(name, way), finish(status), passing))
#define SPLIT_AT(name, way, address)                                                              \
  CALL(name##_begin, (MPI_File file, MPI_Offset at, address buffer, int count, MPI_Datatype type), \
       (file, at, buffer, count, type), collective(file, &at, ACCESS(name##_begin, way), keep, passing)) \
  SPLIT_END(name, address)
#define SPLIT(name, way, address)                                                                            \
  CALL(name##_begin, (MPI_File file, address buffer, int count, MPI_Datatype type), (file, buffer, count, type), \
       collective(file, nullptr, ACCESS(name##_begin, way), keep, passing))                                  \
  SPLIT_END(name, address)
#define SPLIT_END(name, address)                                                                 \
  CALL(name##_end, (MPI_File file, address buffer, MPI_Status* status), (file, buffer, status), \
       end_split(file, status, passing))
#define ALONE_AT(name, address, result)                                                                      \
  CALL(name, (MPI_File file, MPI_Offset at, address buffer, int count, MPI_Datatype type, result* outcome), \
       (file, at, buffer, count, type, outcome), alone(file, #name, Pointer::none, "independent", passing))
#define ALONE(name, address, result)                                                          \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type, result* outcome), \
       (file, buffer, count, type, outcome), alone(file, #name, Pointer::individual, "independent", passing))
#define NONBLOCKING_AT(name, way, address, single)                                                                  \
  CALL(name, (MPI_File file, MPI_Offset at, address buffer, int count, MPI_Datatype type, MPI_Request* request),   \
       (file, at, buffer, count, type, request),                                                                    \
       nonblocking(file, Way::way, #name, passing, [&] { return PMPI_File_##single(file, at, buffer, count, type, request); }))
#define NONBLOCKING(name, way, address, single)                                                  \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type, MPI_Request* request), \
       (file, buffer, count, type, request),                                                     \
       nonblocking(file, Way::way, #name, passing, [&] { return PMPI_File_##single(file, buffer, count, type, request); }))
#define SHARED(name, address, result)                                                         \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type, result* outcome), \
       (file, buffer, count, type, outcome), at_shared_pointer(file, #name, passing))
#define ORDERED(name, address)                                                                         \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type, MPI_Status* status),       \
       (file, buffer, count, type, status), together(file, #name, passing))                           \
  CALL(name##_begin, (MPI_File file, address buffer, int count, MPI_Datatype type), (file, buffer, count, type), \
       together(file, #name "_begin", passing))

extern "C" {

CALL(open, (MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* file),
     (communicator, path, mode, info, file), opened(passing(), communicator, path, mode, info, file))
CALL(close, (MPI_File * file), (file), close(file))
CALL(set_view, (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type, const char* representation, MPI_Info info),
     (file, at, element, type, representation, info), set_view(file, at, element, type, representation, passing))
CALL(get_view, (MPI_File file, MPI_Offset* at, MPI_Datatype* element, MPI_Datatype* type, char* representation),
     (file, at, element, type, representation), get_view(file, at, element, type, representation, passing))
CALL(set_atomicity, (MPI_File file, int on), (file, on), set_atomicity(file, on, passing))
CALL(get_info, (MPI_File file, MPI_Info* info), (file, info), inform(passing(), file, info))
CALL(seek, (MPI_File file, MPI_Offset at, int from), (file, at, from), seek(file, at, from, passing))
CALL(get_position, (MPI_File file, MPI_Offset* at), (file, at), get_position(file, at, passing))
CALL(get_byte_offset, (MPI_File file, MPI_Offset at, MPI_Offset* byte), (file, at, byte),
     get_byte_offset(file, at, byte, passing))
CALL(seek_shared, (MPI_File file, MPI_Offset at, int from), (file, at, from), together(file, nullptr, passing))
CALL(get_position_shared, (MPI_File file, MPI_Offset* at), (file, at), at_shared_pointer(file, "get_position_shared", passing))

COLLECTIVE_AT(read_at_all, read, void*)
COLLECTIVE_AT(write_at_all, write, const void*)
COLLECTIVE(read_all, read, void*)
COLLECTIVE(write_all, write, const void*)
SPLIT_AT(read_at_all, read, void*)
SPLIT_AT(write_at_all, write, const void*)
SPLIT(read_all, read, void*)
SPLIT(write_all, write, const void*)
NONBLOCKING_AT(iread_at_all, read, void*, iread_at)
NONBLOCKING_AT(iwrite_at_all, write, const void*, iwrite_at)
NONBLOCKING(iread_all, read, void*, iread)
NONBLOCKING(iwrite_all, write, const void*, iwrite)

ALONE_AT(read_at, void*, MPI_Status)
ALONE_AT(write_at, const void*, MPI_Status)
ALONE_AT(iread_at, void*, MPI_Request)
ALONE_AT(iwrite_at, const void*, MPI_Request)
ALONE(read, void*, MPI_Status)
ALONE(write, const void*, MPI_Status)
ALONE(iread, void*, MPI_Request)
ALONE(iwrite, const void*, MPI_Request)

SHARED(read_shared, void*, MPI_Status)
SHARED(write_shared, const void*, MPI_Status)
SHARED(iread_shared, void*, MPI_Request)
SHARED(iwrite_shared, const void*, MPI_Request)
ORDERED(read_ordered, void*)
ORDERED(write_ordered, const void*)

}  // extern "C"

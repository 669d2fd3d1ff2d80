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
#define PASS_AT(name, address, result, reason)                                                               \
  CALL(name, (MPI_File file, MPI_Offset at, address buffer, int count, MPI_Datatype type, result* outcome), \
       (file, at, buffer, count, type, outcome), pass_call(file, #name, reason, passing))
#define PASS_POINTER(name, address, result, reason)                                           \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type, result* outcome), \
       (file, buffer, count, type, outcome), pass_at_pointer(file, #name, reason, passing))
#define PASS_SHARED(name, address, result)                                                   \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type, result* outcome), \
       (file, buffer, count, type, outcome), pass_call(file, #name, "shared file pointer", passing))
#define PASS_ORDERED_BEGIN(name, address)                                                                  \
  CALL(name, (MPI_File file, address buffer, int count, MPI_Datatype type), (file, buffer, count, type), \
       pass_call(file, #name, "shared file pointer", passing))

extern "C" {

CALL(open, (MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* file),
     (communicator, path, mode, info, file), opened(passing(), communicator, path, mode, info, file))
CALL(close, (MPI_File * file), (file), close(file))
CALL(set_view, (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type, const char* representation, MPI_Info info),
     (file, at, element, type, representation, info), viewed(passing(), file, at, element, type, representation))
CALL(set_atomicity, (MPI_File file, int on), (file, on), made_atomic(passing(), file, on))
CALL(get_info, (MPI_File file, MPI_Info* info), (file, info), informed(passing(), file, info))
CALL(seek, (MPI_File file, MPI_Offset at, int from), (file, at, from), pass_at_pointer(file, nullptr, "", passing))
CALL(get_position, (MPI_File file, MPI_Offset* at), (file, at), pass_at_pointer(file, nullptr, "", passing))

COLLECTIVE_AT(read_at_all, read, void*)
COLLECTIVE_AT(write_at_all, write, const void*)
COLLECTIVE(read_all, read, void*)
COLLECTIVE(write_all, write, const void*)
SPLIT_AT(read_at_all, read, void*)
SPLIT_AT(write_at_all, write, const void*)
SPLIT(read_all, read, void*)
SPLIT(write_all, write, const void*)

PASS_AT(iread_at_all, void*, MPI_Request, "non-blocking")
PASS_AT(iwrite_at_all, const void*, MPI_Request, "non-blocking")
PASS_POINTER(iread_all, void*, MPI_Request, "non-blocking")
PASS_POINTER(iwrite_all, const void*, MPI_Request, "non-blocking")

PASS_AT(read_at, void*, MPI_Status, "independent")
PASS_AT(write_at, const void*, MPI_Status, "independent")
PASS_AT(iread_at, void*, MPI_Request, "independent")
PASS_AT(iwrite_at, const void*, MPI_Request, "independent")
PASS_POINTER(read, void*, MPI_Status, "independent")
PASS_POINTER(write, const void*, MPI_Status, "independent")
PASS_POINTER(iread, void*, MPI_Request, "independent")
PASS_POINTER(iwrite, const void*, MPI_Request, "independent")
PASS_SHARED(read_shared, void*, MPI_Status)
PASS_SHARED(write_shared, const void*, MPI_Status)
PASS_SHARED(iread_shared, void*, MPI_Request)
PASS_SHARED(iwrite_shared, const void*, MPI_Request)
PASS_SHARED(read_ordered, void*, MPI_Status)
PASS_SHARED(write_ordered, const void*, MPI_Status)
PASS_ORDERED_BEGIN(read_ordered_begin, void*)
PASS_ORDERED_BEGIN(write_ordered_begin, const void*)

}  // extern "C"

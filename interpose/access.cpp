#include "access.hpp"

#include <fcntl.h>

#include <string_view>

#include "core/descriptor.hpp"
#include "core/errors.hpp"
#include "machine/posix_traits.hpp"
#include "policy.hpp"

namespace weir::interpose {

bool is_native_view(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type, const char* representation) {
  if (displacement < 0 || element == MPI_DATATYPE_NULL || type == MPI_DATATYPE_NULL) return false;
  if (!representation || std::string_view{representation} != "native") return false;
  MPI_Count element_size = 0, size = 0;
  PMPI_Type_size_x(element, &element_size);
  PMPI_Type_size_x(type, &size);
  return element_size > 0 && size % element_size == 0;
}

Status untold_view(const OpenFile& file) {
  return problem(
      Code::unsupported,
      "cannot use the shared file pointer of '" + file.path + "': it was not seen in time that this program uses one",
      "set run.collective to mpi for this file");
}

int synchronised(int code, MPI_File handle) {
  const OpenFile* const file = find(handle);
  if (code != MPI_SUCCESS || !file || (file->mode & MPI_MODE_WRONLY) != 0 || posix_traits(file->path).local) return code;
  if (const Descriptor pages{::open(file->path.c_str(), O_RDONLY | O_CLOEXEC)})
    ::posix_fadvise(pages.get(), 0, 0, POSIX_FADV_DONTNEED);
  return code;
}

int inform(int code, MPI_File handle, MPI_Info* info) {
  if (OpenFile* const file = find(handle); file && code == MPI_SUCCESS)
    report_hints(file->settings, file->refusal, *info);
  return code;
}

}  // namespace weir::interpose

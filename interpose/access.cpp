#include "access.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/descriptor.hpp"
#include "core/errors.hpp"
#include "machine/posix_traits.hpp"
#include "storage/storage_problem.hpp"

namespace weir::interpose {

bool is_native(const char* representation) noexcept {
  return representation && std::string_view{representation} == "native";
}

bool is_native_view(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type, const char* representation) {
  if (displacement < 0 || element == MPI_DATATYPE_NULL || type == MPI_DATATYPE_NULL) return false;
  if (!is_native(representation)) return false;
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
  if (code != MPI_SUCCESS || !file || (file->mode & MPI_MODE_WRONLY) != 0 || posix_traits(file->path).local)
    return code;
  if (const Descriptor pages{::open(file->path.c_str(), O_RDONLY | O_CLOEXEC)})
    ::posix_fadvise(pages.get(), 0, 0, POSIX_FADV_DONTNEED);
  return code;
}

int size_of(OpenFile& file, MPI_Offset* size) {
  if (file.form == Form::new_set && file.writer) return file.fail(not_in_a_set(file, "it is being written"));
  if (file.form == Form::set) return *size = static_cast<MPI_Offset>(file.set_bytes), MPI_SUCCESS;
  struct stat now {};
  if (::fstat(file.descriptor, &now) != 0) return file.fail(storage_problem(errno, "find the size of", file.path));
  *size = now.st_size;
  return MPI_SUCCESS;
}

int group_of(OpenFile& file, MPI_Group* group) { return PMPI_Comm_group(file.company->communicator, group); }

int hints_of(OpenFile& file, MPI_Info* info) {
  int code = file.library == MPI_FILE_NULL ? PMPI_Info_create(info) : pass(real().get_info, file.library, info);
  if (code != MPI_SUCCESS) return file.fail(code);
  // The MPI library may not have been told, or not tell what it does not know.
  if (file.waits() || file.view.pending())
    add_hints(file.hints, *info, file.view.pending() ? Hints::all : Hints::missing);
  report_hints(file.settings, file.refusal, *info);
  return MPI_SUCCESS;
}

Status set_size(OpenFile& file, MPI_Offset size) {
  if (file.form != Form::file) return set_size_of_set(file, size);
  return file.company->when_all_are_here([&]() -> Status {
    if (file.mode & MPI_MODE_RDONLY) return storage_problem(EROFS, "change the size of", file.path);
    return ::ftruncate(file.descriptor, size) == 0 ? Status{} : storage_problem(errno, "change the size of", file.path);
  });
}

Status sync(OpenFile& file) {
  if (file.form != Form::file) return file.writer ? file.writer->sync() : Status{};
  const auto mine = [&] {
    return ::fsync(file.descriptor) == 0 ? Status{} : storage_problem(errno, "sync", file.path);
  };
  // On one node whoever syncs does so for all.
  if (file.company->is_on_one_node()) return file.company->when_all_are_here(mine);
  return file.company->agree(mine());
}

Status set_hints(OpenFile& file, MPI_Info info) {
  if (file.library != MPI_FILE_NULL) pass(real().set_info, file.library, info);
  return file.take(Policy::of(file.path, file.hints));
}

}  // namespace weir::interpose

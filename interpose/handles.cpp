#include "handles.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "real.hpp"

namespace weir::interpose {

namespace {

std::mutex handles_guard;
std::vector<MPI_File> idle;

MPI_File make() noexcept try {
  const int file = ::memfd_create("weir", MFD_CLOEXEC);
  if (file < 0) return MPI_FILE_NULL;
  MPI_File handle = MPI_FILE_NULL;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const int code = pass(real().open, MPI_COMM_SELF, path.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &handle);
  ::close(file);
  return code == MPI_SUCCESS ? handle : MPI_FILE_NULL;
} catch (const std::bad_alloc&) {
  return MPI_FILE_NULL;
}

/// A file that is opened has the handler that was set for MPI_FILE_NULL.
void reset_error_handler(MPI_File handle) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  PMPI_File_set_errhandler(handle, handler);
  PMPI_Errhandler_free(&handler);
}

}  // namespace

MPI_File take_handle() noexcept {
  MPI_File handle = MPI_FILE_NULL;
  {
    const std::lock_guard lock{handles_guard};
    if (!idle.empty()) {
      handle = idle.back();
      idle.pop_back();
    }
  }
  if (handle == MPI_FILE_NULL) handle = make();
  if (handle != MPI_FILE_NULL) reset_error_handler(handle);
  return handle;
}

void give_back(MPI_File handle) noexcept try {
  const std::lock_guard lock{handles_guard};
  idle.push_back(handle);
} catch (const std::bad_alloc&) {
  pass(real().close, &handle);
}

void free_handles() noexcept {
  const std::lock_guard lock{handles_guard};
  for (MPI_File& handle : idle) pass(real().close, &handle);
  idle.clear();
}

}  // namespace weir::interpose

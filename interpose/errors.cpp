#include "errors.hpp"

#include <map>
#include <mutex>
#include <string>

namespace weir::interpose {

int error_class(Code code) noexcept {
  switch (code) {
    case Code::ok: return MPI_SUCCESS;
    case Code::invalid: return MPI_ERR_ARG;
    case Code::settings: return MPI_ERR_INFO_VALUE;
    case Code::no_space:
    case Code::too_large: return MPI_ERR_NO_SPACE;
    case Code::quota: return MPI_ERR_QUOTA;
    case Code::read_only: return MPI_ERR_READ_ONLY;
    case Code::access: return MPI_ERR_ACCESS;
    case Code::not_found: return MPI_ERR_NO_SUCH_FILE;
    case Code::exists: return MPI_ERR_FILE_EXISTS;
    case Code::no_memory: return MPI_ERR_NO_MEM;
    case Code::unsupported: return MPI_ERR_UNSUPPORTED_OPERATION;
    case Code::internal: return MPI_ERR_INTERN;
    case Code::mismatch:
    case Code::finalized: return MPI_ERR_OTHER;
    case Code::too_many_files:
    case Code::end_of_file:
    case Code::corrupt:
    case Code::io: return MPI_ERR_IO;
  }
  return MPI_ERR_IO;
}

int error_code(const Status& status) noexcept try {
  static std::mutex guard;
  static std::map<int, int> codes;  // one for each class: the last message is the one that MPI_Error_string gives
  const int kind = error_class(status.code());
  if (kind == MPI_SUCCESS) return kind;
  const std::lock_guard lock{guard};
  const auto [entry, fresh] = codes.try_emplace(kind, kind);
  if (fresh) {
    int code = kind, back = MPI_SUCCESS;
    // Some libraries give a class of its own to every added code: then the class itself is the code.
    if (PMPI_Add_error_code(kind, &code) == MPI_SUCCESS && PMPI_Error_class(code, &back) == MPI_SUCCESS && back == kind)
      entry->second = code;
  }
  if (entry->second != kind)
    PMPI_Add_error_string(entry->second, status.message().substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
  return entry->second;
} catch (const std::bad_alloc&) {
  return error_class(status.code());
}

}  // namespace weir::interpose

#include "access.hpp"

#include <exception>
#include <string_view>

#include "policy.hpp"

namespace weir::interpose {

int viewed(int code, MPI_File handle, MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type,
           const char* representation) {
  const auto file = find(handle);
  if (code != MPI_SUCCESS || !file || !file->refusal.empty()) return code;
  file->native = std::string_view{representation} == "native";
  file->position = 0;
  file->view_problem.clear();
  try {
    int size = 1;
    PMPI_Type_size(element, &size);
    file->view = View{static_cast<std::uint64_t>(displacement), static_cast<std::uint64_t>(size), FlatType::of(type)};
  } catch (const std::exception& reason) {
    file->view_problem = reason.what();
  }
  return code;
}

int made_atomic(int code, MPI_File handle, int on) {
  if (const auto file = find(handle); file && code == MPI_SUCCESS) file->atomic = on != 0;
  return code;
}

int informed(int code, MPI_File handle, MPI_Info* info) {
  if (const auto file = find(handle); file && code == MPI_SUCCESS) report_hints(file->settings, file->refusal, *info);
  return code;
}

}  // namespace weir::interpose

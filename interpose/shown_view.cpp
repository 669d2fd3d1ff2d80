#include "shown_view.hpp"

#include <cstring>
#include <exception>
#include <string_view>

#include "real.hpp"

namespace weir::interpose {

namespace {

bool is_named(MPI_Datatype type) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

/// The program may free its own.
MPI_Datatype copy_of(MPI_Datatype type) {
  MPI_Datatype copy = type;
  if (!is_named(type)) PMPI_Type_dup(type, &copy);
  return copy;
}

void free_copy(MPI_Datatype& type) {
  if (!is_named(type)) PMPI_Type_free(&type);
  type = MPI_BYTE;
}

}  // namespace

ShownView::~ShownView() { forget(); }

void ShownView::forget() noexcept {
  free_copy(element_);
  free_copy(type_);
}

void ShownView::set(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type, const char* representation) {
  int size = 1;
  PMPI_Type_size(element, &size);
  forget();
  displacement_ = displacement;
  element_ = copy_of(element);
  type_ = copy_of(type);
  native_ = std::string_view{representation} == "native";
  pending_ = true;
  alone_knows_ = false;
  problem_.clear();
  try {
    pieces_ = View{static_cast<std::uint64_t>(displacement), static_cast<std::uint64_t>(size), FlatType::of(type)};
  } catch (const std::exception& reason) {
    problem_ = reason.what();
  }
}

void ShownView::get(MPI_Offset* displacement, MPI_Datatype* element, MPI_Datatype* type, char* representation) const {
  *displacement = displacement_;
  *element = copy_of(element_);
  *type = copy_of(type_);
  std::strcpy(representation, "native");
}

int ShownView::tell(MPI_File handle) const {
  return pass(real().set_view, handle, displacement_, element_, type_, "native", MPI_INFO_NULL);
}

int ShownView::tell_all(MPI_File handle) {
  if (!pending_) return MPI_SUCCESS;
  pending_ = false;
  return tell(handle);
}

int ShownView::alone(MPI_File handle, const std::string& path, int mode, MPI_File& result) {
  result = handle;
  if (!pending_) return MPI_SUCCESS;
  int code = MPI_SUCCESS;
  if (alone_ == MPI_FILE_NULL) {
    const int plain = mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    code = pass(real().open, MPI_COMM_SELF, path.c_str(), plain, MPI_INFO_NULL, &alone_);
  }
  if (code == MPI_SUCCESS && !alone_knows_) code = tell(alone_);
  alone_knows_ = code == MPI_SUCCESS;
  result = alone_;
  return code;
}

void ShownView::close_alone() noexcept {
  if (alone_ != MPI_FILE_NULL) pass(real().close, &alone_);
}

}  // namespace weir::interpose

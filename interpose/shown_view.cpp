#include "shown_view.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "real.hpp"
#include "type_contents.hpp"

namespace weir::interpose {

namespace {

/// A copy takes as long as finding out about its pieces.
bool is_long(MPI_Datatype type) {
  const Envelope envelope{type};
  return envelope.integers + envelope.large_counts > 1000;
}

MPI_Datatype copy_of(MPI_Datatype type) {
  MPI_Datatype copy = type;
  if (type != MPI_DATATYPE_NULL && !Envelope{type}.named()) PMPI_Type_dup(type, &copy);
  return copy;
}

void free_copy(MPI_Datatype& type) {
  if (type != MPI_DATATYPE_NULL && !Envelope{type}.named()) PMPI_Type_free(&type);
}

/// A type with the same pieces, from `begin` on, and extent.
MPI_Datatype like(const FlatType& flat, std::int64_t begin) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  flat.for_each(0, flat.size(), [&](const Block& block, std::uint64_t, std::uint64_t) {
    for (std::uint64_t i = 0; i < block.count; ++i) {
      std::uint64_t rest = block.length;
      MPI_Aint at = begin + block.at + static_cast<std::int64_t>(i) * block.stride;
      for (int part = 0; rest > 0; rest -= static_cast<std::uint64_t>(part), at += part) {
        part = static_cast<int>(std::min<std::uint64_t>(rest, 1 << 30));
        lengths.push_back(part);
        places.push_back(at);
      }
    }
  });
  MPI_Datatype pieces = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  PMPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &pieces);
  PMPI_Type_create_resized(pieces, 0, flat.extent(), &type);
  PMPI_Type_commit(&type);
  PMPI_Type_free(&pieces);
  return type;
}

}  // namespace

ShownView::~ShownView() {
  int over = 0;
  PMPI_Finalized(&over);  // the file may have been left open
  if (!over) forget();
}

void ShownView::forget() noexcept {
  free_copy(element_);
  free_copy(type_);
}

void ShownView::set(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type, const char* representation) {
  MPI_Count size = 1;
  PMPI_Type_size_x(element, &size);
  forget();
  displacement_ = displacement;
  element_ = copy_of(element);
  type_ = is_long(type) ? MPI_DATATYPE_NULL : copy_of(type);
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

MPI_Datatype ShownView::type() const {
  if (type_ == MPI_DATATYPE_NULL) type_ = like(pieces_.tile(), pieces_.origin());
  return type_;
}

void ShownView::get(MPI_Offset* displacement, MPI_Datatype* element, MPI_Datatype* type, char* representation) const {
  *displacement = displacement_;
  *element = copy_of(element_);
  *type = copy_of(this->type());
  std::strcpy(representation, "native");
}

int ShownView::tell(MPI_File handle, MPI_Info hints) const {
  return pass(real().set_view, handle, displacement_, element_, type(), "native", hints);
}

int ShownView::tell_all(MPI_File handle, MPI_Info hints) {
  if (!pending_) return MPI_SUCCESS;
  pending_ = false;
  return tell(handle, hints);
}

int ShownView::open_alone(const std::string& path, int mode, MPI_Info hints, MPI_File& result) {
  int code = MPI_SUCCESS;
  if (alone_ == MPI_FILE_NULL) {
    const int plain = mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    code = pass(real().open, MPI_COMM_SELF, path.c_str(), plain, hints, &alone_);
    if (code == MPI_SUCCESS) PMPI_File_set_errhandler(alone_, MPI_ERRORS_RETURN);
  }
  if (code == MPI_SUCCESS && !alone_knows_) code = tell(alone_, hints);
  if (code == MPI_SUCCESS) alone_knows_ = true;
  result = alone_;
  return code;
}

void ShownView::hint_alone(MPI_Info hints) const noexcept {
  if (alone_ != MPI_FILE_NULL) pass(real().set_info, alone_, hints);
}

void ShownView::close_alone() noexcept {
  if (alone_ != MPI_FILE_NULL) pass(real().close, &alone_);
}

}  // namespace weir::interpose

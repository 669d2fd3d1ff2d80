#include "file_bytes.hpp"

namespace weir::interpose {

FileBytes::~FileBytes() {
  for (MPI_Datatype& type : types_) PMPI_Type_free(&type);
  if (whole_ != MPI_BYTE) PMPI_Type_free(&whole_);
}

void FileBytes::add(const Boxes& boxes, std::size_t element, std::size_t times, MPI_Offset distance, MPI_Offset at) {
  const auto bytes = [&](MPI_Offset elements) { return elements * static_cast<MPI_Offset>(element); };
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  lengths.reserve(boxes.pieces.size());
  places.reserve(boxes.pieces.size());
  for (const Boxes::Piece& piece : boxes.pieces) {
    lengths.push_back(static_cast<int>(bytes(piece.length)));
    places.push_back(static_cast<MPI_Aint>(bytes(piece.at - boxes.first())));
  }
  types_.reserve(types_.size() + 1);
  places_.push_back(static_cast<MPI_Aint>(at));
  MPI_Datatype once = MPI_DATATYPE_NULL, all = MPI_DATATYPE_NULL;
  PMPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), MPI_BYTE, &once);
  PMPI_Type_create_hvector(static_cast<int>(times), 1, static_cast<MPI_Aint>(distance), once, &all);
  PMPI_Type_free(&once);
  types_.push_back(all);
}

void FileBytes::put_together() {
  if (types_.empty()) return;
  const std::vector<int> ones(types_.size(), 1);
  PMPI_Type_create_struct(static_cast<int>(types_.size()), ones.data(), places_.data(), types_.data(), &whole_);
  PMPI_Type_commit(&whole_);
}

}  // namespace weir::interpose

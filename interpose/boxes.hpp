#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::interpose {

/// A list of boxes of an array, as a program gives it to PnetCDF: where each starts, and how many elements it has along
/// each dimension. The first dimension may be that of records: then all boxes lie in one record.
struct GivenBoxes {
  int count = 0;
  MPI_Offset* const* starts = nullptr;
  MPI_Offset* const* counts = nullptr;  ///< null, or null for a box, where it is one element
  std::span<const MPI_Offset> shape;    ///< of the array, or of a record of it
  bool in_record = false;               ///< the first start and count are those of the record
};

/// The same, kept, and flattened: the pieces of the array in ascending order, in elements.
struct Boxes {
  struct Piece {
    MPI_Offset at;  ///< in the array, or in its record
    MPI_Offset length;
    MPI_Offset element;  ///< where its data begins in that of all boxes
  };
  std::vector<MPI_Offset> shape;
  std::vector<MPI_Offset> starts, counts;  ///< of box after box, without the record
  std::vector<Piece> pieces;
  MPI_Offset elements = 0;
  bool in_order = true;  ///< the pieces' data is in the order of the pieces

  /// None where boxes are empty, overlap, leave the array or lie in several records.
  static std::optional<Boxes> of(const GivenBoxes& given);
  [[nodiscard]] bool is(const GivenBoxes& given) const noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return starts.size() / shape.size(); }
  [[nodiscard]] MPI_Offset first() const noexcept { return pieces.front().at; }
  [[nodiscard]] MPI_Offset end() const noexcept { return pieces.back().at + pieces.back().length; }
  /// Puts the data of all boxes in the order of the pieces, every element with its bytes in reverse where this machine
  /// has the lowest first.
  void to_file_order(const std::byte* data, std::size_t element, std::byte* result) const noexcept;
};

}  // namespace weir::interpose

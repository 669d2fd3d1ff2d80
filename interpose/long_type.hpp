#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "flat_type.hpp"

namespace weir::interpose {

/// Bytes that a program lists piece by piece in a datatype for a view, when the list is long and repeats itself. MPI
/// libraries take long over such a list, and much memory. The same type map, made of a few types that are repeated,
/// takes neither; asked how it was made, it answers as if it were the list. Types that are made of it answer the truth.
class LongType {
 public:
  /// Pieces that come `times` times, each time `distance` further.
  struct Part {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    std::size_t times = 1;
    MPI_Aint distance = 0;
  };

  /// MPI_DATATYPE_NULL when the list is better left as it is.
  static MPI_Datatype make(std::span<const int> lengths, const MPI_Aint* places) noexcept;
  /// Null when the type was not made here.
  static const LongType* find(MPI_Datatype type);

  /// How many pieces the list has.
  [[nodiscard]] std::size_t count() const noexcept;
  void list(int* lengths, MPI_Aint* places) const noexcept;
  [[nodiscard]] FlatType flat() const;

 private:
  explicit LongType(std::vector<Part> parts) noexcept : parts_{std::move(parts)} {}
  [[nodiscard]] MPI_Datatype put_together() const;

  std::vector<Part> parts_;
};

}  // namespace weir::interpose

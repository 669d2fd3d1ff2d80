#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "flat_type.hpp"

namespace weir::interpose {

/// Bytes that a program lists piece by piece in a datatype for a view, when the list is long and repeats itself. MPI
/// libraries take long over such a list, and much memory. The same type map, made of a few types that are repeated,
/// takes neither; asked how it was made, it answers as if it were the list. Types that are made of it answer the truth.
class LongType {
 public:
  /// Pieces that come `times` times, each time `distance` further; their places are counted from the first of the list.
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
  using Parts = std::shared_ptr<const std::vector<Part>>;
  LongType(Parts parts, MPI_Aint first) noexcept : parts_{std::move(parts)}, first_{first} {}
  [[nodiscard]] MPI_Datatype put_together() const;

  Parts parts_;
  MPI_Aint first_;  // place of the list
};

}  // namespace weir::interpose

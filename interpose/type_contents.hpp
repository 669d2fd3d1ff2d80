#pragma once

#include <mpi.h>

#include <vector>

namespace weir::interpose {

/// What a datatype was made of.
struct TypeContents {
  explicit TypeContents(MPI_Datatype type);
  TypeContents(const TypeContents&) = delete;
  TypeContents& operator=(const TypeContents&) = delete;
  ~TypeContents();

  /// Predefined, or one that the library made up from a precision.
  [[nodiscard]] bool is_leaf() const noexcept { return types.empty(); }

  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
};

}  // namespace weir::interpose

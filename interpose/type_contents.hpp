#pragma once

#include <mpi.h>

#include <vector>

namespace weir::interpose {

/// How a datatype was made, also with large counts.
struct Envelope {
  explicit Envelope(MPI_Datatype type);

  [[nodiscard]] bool named() const noexcept { return combiner == MPI_COMBINER_NAMED; }

  MPI_Count integers = 0, addresses = 0, large_counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

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
  std::vector<MPI_Count> large_integers;  ///< instead of the others, and in their order, when there were large counts
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;

 private:
  void arrange(const std::vector<MPI_Count>& counts);
};

}  // namespace weir::interpose

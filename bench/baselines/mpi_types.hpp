#pragma once

#include <mpi.h>

#include <utility>
#include <vector>

#include "workload.hpp"

namespace weir::bench {

/// Throws `Error` with MPI's own words unless `code` is success.
void check_mpi(int code, const std::string& action);

/// A committed datatype, freed in the end; MPI_BYTE by default.
class Type {
 public:
  Type() = default;
  static Type hindexed(const std::vector<int>& lengths, const std::vector<MPI_Aint>& displacements);
  static Type subarray(const Box& box);
  Type(Type&& other) noexcept : type_{std::exchange(other.type_, MPI_BYTE)} {}
  Type& operator=(Type&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~Type();
  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }
  [[nodiscard]] bool derived() const noexcept { return type_ != MPI_BYTE; }

 private:
  explicit Type(MPI_Datatype type);
  MPI_Datatype type_ = MPI_BYTE;
};

/// Pieces of the file and where they lie in memory, as an application would keep them for its datatypes: in the
/// file's order, neighbours joined separately on either side.
struct TypeLists {
  struct Side {
    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements;
    void append(std::uint64_t at, std::uint64_t length);
  };
  struct Place {
    std::uint64_t file, memory, length;
  };
  explicit TypeLists(std::vector<Place> places);
  Side file, memory;
  std::uint64_t bytes = 0;
};

}  // namespace weir::bench

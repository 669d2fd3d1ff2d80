#pragma once

#include <mpi.h>

#include <vector>

#include "boxes.hpp"

namespace weir::interpose {

/// Pieces of a file as a datatype of bytes.
class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  /// Adds the pieces of boxes, from the first, which is at `at`, `times` times at a distance. They lie behind all
  /// others.
  void add(const Boxes& boxes, std::size_t element, std::size_t times, MPI_Offset distance, MPI_Offset at);
  void put_together();
  /// That of all of them; MPI_BYTE when there are none.
  [[nodiscard]] MPI_Datatype whole() const noexcept { return whole_; }

 private:
  std::vector<MPI_Datatype> types_;
  std::vector<MPI_Aint> places_;
  MPI_Datatype whole_ = MPI_BYTE;
};

}  // namespace weir::interpose

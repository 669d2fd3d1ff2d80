#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "flat_type.hpp"

namespace weir::interpose {

/// What a program gave as buffer, count and datatype, as bytes that follow one another.
///
/// Scattered data is copied: before it is written, and after it was read.
class Memory {
 public:
  Memory() = default;
  /// Throws what `FlatType::of` throws.
  Memory(void* buffer, std::uint64_t count, MPI_Datatype type);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// Where they are; for scattered data a copy.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// Copies the program's data to `data`.
  void pack() const noexcept;
  /// Copies the first `bytes` of `data` to where the program wants them.
  void unpack(std::uint64_t bytes) const noexcept;

 private:
  template <class Copy>
  void for_each(std::uint64_t bytes, Copy&& copy) const noexcept;

  FlatType type_;
  std::byte* buffer_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<std::byte[]> copy_;
};

}  // namespace weir::interpose

#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace weir::interpose {

/// `count` pieces of `length` bytes, the first at `at`, each `stride` after the one before; `before`: bytes of the type
/// ahead of them.
struct Block {
  std::int64_t at;
  std::uint64_t length;
  std::int64_t stride;
  std::uint64_t count;
  std::uint64_t before;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return length * count; }
};

/// A datatype as the pieces of its type map, in its order, kept as strided blocks.
class FlatType {
 public:
  /// Takes apart any datatype, however it was made. Throws std::bad_alloc, and std::invalid_argument for a constructor
  /// that it does not know.
  static FlatType of(MPI_Datatype type);
  static FlatType byte();

  [[nodiscard]] const std::vector<Block>& blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t size() const noexcept {
    return blocks_.empty() ? 0 : blocks_.back().before + blocks_.back().bytes();
  }
  [[nodiscard]] std::int64_t extent() const noexcept { return extent_; }
  /// Whether any number of them, one after another, is one piece.
  [[nodiscard]] bool dense() const noexcept {
    return blocks_.size() == 1 && blocks_[0].count == 1 && static_cast<std::int64_t>(blocks_[0].length) == extent_;
  }
  /// Of everything in it.
  [[nodiscard]] std::uint64_t hash() const noexcept;
  /// The block that has the byte with so many bytes before it; there must be one.
  [[nodiscard]] std::size_t find(std::uint64_t bytes) const noexcept;

  /// Makes room for so many blocks.
  void reserve(std::size_t blocks) { blocks_.reserve(blocks); }
  /// Adds pieces behind those that are there, merged with the last where possible.
  void append(std::int64_t at, std::uint64_t length, std::int64_t stride, std::uint64_t count);
  /// `count` copies of another type, the first at `at`.
  void repeat(const FlatType& type, std::uint64_t count, std::int64_t stride, std::int64_t at);

 private:
  std::vector<Block> blocks_;
  std::int64_t extent_ = 0;
};

}  // namespace weir::interpose

#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <span>
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

/// Blocks that come `count` times, each time `distance` further. They are given as they are the first time.
struct Group {
  std::size_t first, end;
  std::int64_t distance;
  std::uint64_t count;
  std::uint64_t before;  ///< bytes of the type ahead of it
  std::uint64_t once;    ///< bytes of the blocks

  [[nodiscard]] std::uint64_t bytes() const noexcept { return once * count; }
};

/// A datatype as the pieces of its type map, in its order, kept as strided blocks and repetitions of them.
class FlatType {
 public:
  /// Takes apart any datatype, however it was made. Throws std::bad_alloc, and std::invalid_argument for a constructor
  /// that it does not know.
  static FlatType of(MPI_Datatype type);
  static FlatType byte();

  [[nodiscard]] const std::vector<Group>& groups() const noexcept { return groups_; }
  [[nodiscard]] std::span<const Block> blocks(const Group& group) const noexcept {
    return {blocks_.data() + group.first, group.end - group.first};
  }
  [[nodiscard]] std::uint64_t size() const noexcept {
    return groups_.empty() ? 0 : groups_.back().before + groups_.back().bytes();
  }
  [[nodiscard]] std::int64_t extent() const noexcept { return extent_; }
  /// Where its first piece is.
  [[nodiscard]] std::int64_t begin() const noexcept { return blocks_.empty() ? 0 : blocks_[0].at; }
  /// Its only block, if it has just one, once.
  [[nodiscard]] const Block* single() const noexcept {
    return blocks_.size() == 1 && groups_[0].count == 1 ? &blocks_[0] : nullptr;
  }
  /// Whether it is one piece.
  [[nodiscard]] bool whole() const noexcept { return single() && single()->count == 1; }
  /// Whether any number of them, one after another, is one piece.
  [[nodiscard]] bool dense() const noexcept {
    return whole() && static_cast<std::int64_t>(single()->length) == extent_;
  }
  /// Whether its pieces lie one behind another, none over the one before.
  [[nodiscard]] bool ascends() const noexcept;
  /// Of everything in it.
  [[nodiscard]] std::uint64_t hash() const noexcept;

  /// Calls `visit(block, skip, part)` for each block that has some of the `bytes` behind the first `before`: of its
  /// bytes they are `part`, behind the first `skip`.
  template <class Visit>
  void for_each(std::uint64_t before, std::uint64_t bytes, Visit&& visit) const {
    for (std::size_t g = find(groups_, before); g < groups_.size() && bytes > 0; ++g) {
      const Group& group = groups_[g];
      const auto own = blocks(group);
      for (std::uint64_t i = (before - group.before) / group.once; i < group.count && bytes > 0; ++i) {
        const std::uint64_t moved = i * group.once;
        for (std::size_t b = find(own, before - moved); b < own.size() && bytes > 0; ++b) {
          Block block = own[b];
          block.at += static_cast<std::int64_t>(i) * group.distance;
          block.before += moved;
          const std::uint64_t skip = before - block.before;
          const std::uint64_t part = std::min(bytes, block.bytes() - skip);
          visit(block, skip, part);
          before += part;
          bytes -= part;
        }
      }
    }
  }

  /// Adds pieces behind those that are there, merged with the last where possible.
  void append(std::int64_t at, std::uint64_t length, std::int64_t stride, std::uint64_t count);
  /// `count` copies of another type, the first at `at`.
  void repeat(const FlatType& type, std::uint64_t count, std::int64_t stride, std::int64_t at);
  /// Moves all pieces; the extent stays.
  void move(std::int64_t bytes) noexcept {
    for (Block& block : blocks_) block.at += bytes;
  }
  /// Makes room for so many blocks.
  void reserve(std::size_t blocks) { blocks_.reserve(blocks); }

 private:
  /// The last that has at most so many bytes before it; the first is known to.
  template <class List>
  static std::size_t find(const List& list, std::uint64_t bytes) noexcept {
    if (list.empty() || bytes == list[0].before) return 0;
    const auto behind =
        std::partition_point(list.begin(), list.end(), [&](const auto& part) { return part.before <= bytes; });
    return static_cast<std::size_t>(behind - list.begin()) - 1;
  }
  void add(const FlatType& type, std::int64_t at);
  /// Whether a group of another type, at `at`, is the same as the last one and follows it at the same distance.
  [[nodiscard]] bool goes_on(const FlatType& type, const Group& group, std::int64_t distance,
                             std::int64_t at) const noexcept;
  void add_group(const FlatType& type, const Group& group, std::uint64_t count, std::int64_t distance, std::int64_t at);

  std::vector<Block> blocks_;
  std::vector<Group> groups_;
  std::int64_t extent_ = 0;
};

}  // namespace weir::interpose

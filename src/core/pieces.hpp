#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <weir/declaration.hpp>

#include "core/archive.hpp"
#include "core/strided.hpp"

namespace weir {

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + length; }
  bool operator==(const Extent&) const = default;
};
inline constexpr Extent everywhere{0, ~std::uint64_t{0}};

/// Sorted, disjoint pieces of a file and where each lies in memory, kept as strided runs.
///
/// A run's pieces follow one another in memory. Runs do not interleave, so a position is found by one binary search.
class PieceList {
 public:
  PieceList() = default;
  /// Pieces in the order of memory; where two overlap, the later one keeps the bytes.
  static PieceList of(std::span<const Run> runs);
  /// The union of lists, packed: a piece's place in memory is the number of bytes before it.
  static PieceList union_of(std::span<const PieceList* const> lists, Extent within = everywhere);
  /// From runs of unknown origin, whose `before` is ignored; nothing unless they are what a list can have, below 2^63.
  static std::optional<PieceList> checked(std::vector<Strided> runs);

  /// Adds a piece behind all others, merging it with the last where possible.
  void append(std::uint64_t offset, std::uint64_t length, std::uint64_t memory);

  /// Gives back memory kept for more pieces, when it is worth a copy.
  void shrink() { runs_.shrink(); }

  [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }
  [[nodiscard]] std::uint64_t begin() const noexcept { return runs_.empty() ? 0 : runs_.offset(0); }
  [[nodiscard]] std::uint64_t end() const noexcept { return runs_.empty() ? 0 : runs_.back().end(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return runs_.empty() ? 0 : runs_.back().before + runs_.back().bytes();
  }
  [[nodiscard]] std::uint64_t pieces() const noexcept;
  [[nodiscard]] const StridedList& runs() const noexcept { return runs_; }
  /// The first run that ends behind `offset`.
  [[nodiscard]] std::size_t find(std::uint64_t offset) const noexcept { return find(offset, 0, runs_.size()); }
  [[nodiscard]] std::uint64_t list_bytes() const noexcept { return runs_.list_bytes(); }
  /// Bytes of the pieces that lie before `offset`.
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t offset) const noexcept;

  /// The first byte of a piece at or behind `offset`, or `none`.
  [[nodiscard]] std::uint64_t next(std::uint64_t offset) const noexcept;
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  /// Where so many bytes from a byte of a piece on lie in memory, or `none` when they are not of one piece.
  [[nodiscard]] std::uint64_t memory_of(std::uint64_t offset, std::uint64_t bytes) const noexcept;

  /// `bytes_before` of ascending offsets, faster than one by one.
  class Counter {
   public:
    explicit Counter(const PieceList& list) : list_{list} {}
    std::uint64_t bytes_before(std::uint64_t offset) noexcept;

   private:
    const PieceList& list_;
    std::size_t run_ = 0;
  };

  /// The offset of the byte that has so many bytes before it.
  [[nodiscard]] std::uint64_t offset_at(std::uint64_t bytes) const noexcept;

  /// Calls `visit(offset, length, memory)` for every piece, cut to [low, high).
  template <class Visit>
  void for_each(std::uint64_t low, std::uint64_t high, Visit&& visit) const {
    for (std::size_t i = find(low); i < runs_.size() && runs_.offset(i) < high; ++i) {
      const Strided run = runs_[i];
      std::uint64_t first = run.offset < low && run.count > 1 ? (low - run.offset) / run.stride : 0;
      for (std::uint64_t k = first; k < run.count; ++k) {
        const std::uint64_t piece = run.offset + k * run.stride;
        const std::uint64_t from = std::max(piece, low);
        const std::uint64_t to = std::min(piece + run.length, high);
        if (piece >= high) break;
        if (from < to) visit(from, to - from, run.memory + k * run.length + (from - piece));
      }
    }
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for_each(0, ~std::uint64_t{0}, std::forward<Visit>(visit));
  }

  /// Copies the pieces in [low, high) from packed memory to where they belong; `target` stands for offset `low`.
  void scatter(std::uint64_t low, std::uint64_t high, const std::byte* memory, std::byte* target) const noexcept;
  /// The way back.
  void gather(std::uint64_t low, std::uint64_t high, const std::byte* source, std::byte* memory) const noexcept;

  void write(Writer& out) const { runs_.write(out); }
  static PieceList read(Reader& in) {
    PieceList list;
    list.runs_.read(in);
    return list;
  }

  bool operator==(const PieceList&) const = default;

 private:
  /// `find`, known to be in [first, end].
  [[nodiscard]] std::size_t find(std::uint64_t offset, std::size_t first, std::size_t end) const noexcept;
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t offset, std::size_t run) const noexcept;

  StridedList runs_;
};

/// A part of memory that must equal another after reading, since both stand for the same bytes of the file.
struct Echo {
  std::uint64_t from, to, length;
};

/// The echoes of runs in which pieces overlap; `visible` is the list made of them.
std::vector<Echo> echoes_of(std::span<const Run> runs, const PieceList& visible);

/// Sorts extents and merges those that touch or overlap.
void normalise(std::vector<Extent>& extents);

}  // namespace weir

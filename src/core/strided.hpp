#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/archive.hpp"

namespace weir {

/// Pieces of equal length at equal distances that follow one another in memory.
struct Strided {
  std::uint64_t offset;
  std::uint64_t length;
  std::uint64_t stride;
  std::uint64_t count;
  std::uint64_t memory;  ///< of the first piece
  std::uint64_t before;  ///< bytes in the runs before this one

  [[nodiscard]] std::uint64_t end() const noexcept { return offset + (count - 1) * stride + length; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return length * count; }
};

/// A vector of strided runs in few bytes: 32 for a single piece below 4 GiB; the length, stride and count of other runs
/// are kept once for all neighbours that have the same.
class StridedList {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] Strided operator[](std::size_t i) const noexcept {
    const Entry& entry = entries_[i];
    if (entry.pattern == 0) return {entry.offset, entry.length, 0, 1, entry.memory, entry.before};
    const Pattern& pattern = patterns_[entry.pattern - 1];
    return {entry.offset, pattern.length, pattern.stride, pattern.count, entry.memory, entry.before};
  }
  [[nodiscard]] std::uint64_t offset(std::size_t i) const noexcept { return entries_[i].offset; }
  [[nodiscard]] Strided back() const noexcept { return (*this)[size() - 1]; }
  /// All runs are single pieces of less than 4 GiB.
  [[nodiscard]] bool singles() const noexcept { return patterns_.empty(); }

  /// The first run in [first, end] that starts behind `offset`, where runs are in the order of offsets.
  [[nodiscard]] std::size_t first_behind(std::uint64_t offset, std::size_t first, std::size_t end) const noexcept {
    const auto begin = entries_.begin();
    return static_cast<std::size_t>(
        std::partition_point(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                             [&](const Entry& entry) { return entry.offset <= offset; }) -
        begin);
  }
  /// The last run with at most so many bytes before it.
  [[nodiscard]] std::size_t last_before(std::uint64_t bytes) const noexcept {
    const auto behind = std::partition_point(entries_.begin(), entries_.end(),
                                             [&](const Entry& entry) { return entry.before <= bytes; });
    return static_cast<std::size_t>(behind - entries_.begin()) - 1;
  }

  void push_back(const Strided& run) {
    share_last_pattern();
    entries_.push_back({run.offset, run.memory, run.before, 0, 0});
    replace_back(run);
  }
  /// Changes length, stride and count of the last run.
  void replace_back(const Strided& run) {
    Entry& entry = entries_.back();
    if (entry.pattern == 0 && run.count == 1 && run.length <= std::numeric_limits<std::uint32_t>::max()) {
      entry.length = static_cast<std::uint32_t>(run.length);
      return;
    }
    if (entry.pattern == 0) {
      patterns_.emplace_back();
      entry.pattern = static_cast<std::uint32_t>(patterns_.size());
      entry.length = 0;
    }
    patterns_.back() = {run.length, run.stride, run.count};
  }
  void reserve(std::size_t runs) { entries_.reserve(runs); }
  /// Gives back memory kept for more runs, when it is worth a copy.
  void shrink() {
    if (entries_.capacity() - entries_.size() > entries_.size() / 8) entries_.shrink_to_fit();
    if (patterns_.capacity() - patterns_.size() > patterns_.size() / 8) patterns_.shrink_to_fit();
  }

  [[nodiscard]] std::uint64_t list_bytes() const noexcept {
    return entries_.capacity() * sizeof(Entry) + patterns_.capacity() * sizeof(Pattern);
  }
  [[nodiscard]] std::uint64_t hash(std::uint64_t seed) const noexcept;

  void write(Writer& out) const {
    out.put(entries_);
    out.put(patterns_);
  }
  void read(Reader& in) {
    in.get_to(entries_);
    in.get_to(patterns_);
  }
  bool operator==(const StridedList&) const = default;

 private:
  struct Entry {
    std::uint64_t offset, memory, before;
    std::uint32_t length;
    std::uint32_t pattern;  ///< 0: a single piece of `length`; else counted from 1
    bool operator==(const Entry&) const = default;
  };
  struct Pattern {
    std::uint64_t length, stride, count;
    bool operator==(const Pattern&) const = default;
  };

  /// The last run, while it is the last, has the last pattern for itself. Then it may turn out to be that of the run
  /// before.
  void share_last_pattern() {
    const std::size_t n = patterns_.size();
    if (n < 2 || entries_.back().pattern != n || !(patterns_[n - 1] == patterns_[n - 2])) return;
    patterns_.pop_back();
    entries_.back().pattern = static_cast<std::uint32_t>(n - 1);
  }

  std::vector<Entry> entries_;
  std::vector<Pattern> patterns_;
};

}  // namespace weir

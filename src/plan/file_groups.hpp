#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/node_map.hpp"

namespace weir {

/// Which ranks share a sub-file, and how all sub-files make one space of offsets for the planner.
///
/// Sub-file f has the offsets from `base(f)` to `base(f) + room()`: so many that no two neighbours ever touch.
struct FileGroups {
  static constexpr std::uint32_t most_files = 1 << 24;

  std::uint32_t files = 0;    ///< 0: one file for all, and offsets are its own
  std::vector<int> group_of;  ///< writing: the sub-file of each rank
  /// Reading: the node on whose storage each sub-file lies, ascending; empty: all nodes can read all.
  std::vector<int> holder_of;

  /// `setting` is that of plan.files: shared, rank, node or nodes:N.
  static FileGroups of(std::string_view setting, const NodeMap& nodes);
  static FileGroups for_reading(std::uint32_t files, std::vector<int> holder_of = {}) {
    return {files, {}, std::move(holder_of)};
  }

  [[nodiscard]] bool shared() const noexcept { return files == 0; }
  /// Whether only some ranks can reach a sub-file.
  [[nodiscard]] bool divided() const noexcept { return !group_of.empty() || !holder_of.empty(); }
  /// The most bytes that a sub-file can have.
  [[nodiscard]] std::uint64_t room() const noexcept;
  [[nodiscard]] std::uint64_t base(std::uint32_t file) const noexcept { return file * room(); }
  [[nodiscard]] std::uint32_t file_at(std::uint64_t offset) const noexcept {
    return static_cast<std::uint32_t>(offset / room());
  }
  [[nodiscard]] std::uint64_t inside(std::uint64_t offset) const noexcept { return offset % room(); }

  /// Ranks that write a sub-file, those of a node side by side.
  [[nodiscard]] std::vector<std::vector<int>> members(const NodeMap& nodes) const;
  /// Sub-files that the same ranks can reach.
  struct Part {
    std::uint32_t end;             ///< behind the last one; a part begins where the one before ends
    std::vector<int> aggregators;  ///< at least one
  };
  /// All sub-files, when they are divided, with about `wanted` aggregators.
  [[nodiscard]] std::vector<Part> parts(std::size_t wanted, const NodeMap& nodes) const;
};

}  // namespace weir

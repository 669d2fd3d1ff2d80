#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/archive.hpp"
#include "machine/node_map.hpp"

namespace weir {

/// Which ranks share a sub-file, and how all sub-files make one space of offsets for the planner.
///
/// Sub-file f has the offsets from `base(f)` to `base(f) + room()`: so many that no two neighbours ever touch.
struct FileGroups {
  static constexpr std::uint32_t most_files = 1 << 24;

  std::uint32_t files = 0;    ///< 0: one file for all, and offsets are its own
  std::vector<int> group_of;  ///< the sub-file that each rank writes; empty for reading, where all use all

  /// `setting` is that of plan.files: shared, rank, node or nodes:N.
  static FileGroups of(std::string_view setting, const NodeMap& nodes);
  static FileGroups for_reading(std::uint32_t files) { return {files, {}}; }

  [[nodiscard]] bool shared() const noexcept { return files == 0; }
  /// The most bytes that a sub-file can have.
  [[nodiscard]] std::uint64_t room() const noexcept;
  [[nodiscard]] std::uint64_t base(std::uint32_t file) const noexcept { return file * room(); }
  [[nodiscard]] std::uint32_t file_at(std::uint64_t offset) const noexcept {
    return static_cast<std::uint32_t>(offset / room());
  }
  [[nodiscard]] std::uint64_t inside(std::uint64_t offset) const noexcept { return offset % room(); }

  /// Ranks that write a sub-file, those of a node side by side.
  [[nodiscard]] std::vector<std::vector<int>> members(const NodeMap& nodes) const;
  /// Aggregators, at least one for each sub-file and about `wanted` in all, by sub-file.
  [[nodiscard]] std::vector<std::vector<int>> aggregators(std::size_t wanted, const NodeMap& nodes) const;

  void write(Writer& out) const;
  static FileGroups read(Reader& in);
};

}  // namespace weir

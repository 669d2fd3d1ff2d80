#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/archive.hpp"
#include "model/placement.hpp"
#include "plan/file_groups.hpp"
#include "plan/footprint.hpp"

namespace weir {

/// A stretch of the file with declared bytes; `packed` is its place when the holes between segments are left out.
struct Segment {
  std::uint64_t file, packed, span;
  [[nodiscard]] std::uint64_t file_end() const noexcept { return file + span; }
  [[nodiscard]] std::uint64_t packed_end() const noexcept { return packed + span; }
};

/// The part of the packed file that one aggregator is responsible for, one buffer after another.
struct Domain {
  int aggregator;
  std::uint32_t first_window;
  std::uint32_t windows;
};

/// What all ranks know of a plan: who aggregates which part of the file in which order.
///
/// Domains cover the declared bytes, never overlap, hold about equally many of them, and start on an aligned offset.
/// With sub-files all offsets are those of `FileGroups`, and a domain for writing is part of one sub-file.
struct Layout {
  Direction direction = Direction::write;
  Placement placement;
  FileGroups files;
  std::vector<Segment> segments;
  std::vector<std::uint64_t> cuts;  ///< packed start of every window, and the end of the last
  std::vector<Domain> domains;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;
  std::uint64_t hash = 0;

  [[nodiscard]] std::size_t windows() const noexcept { return cuts.empty() ? 0 : cuts.size() - 1; }
  [[nodiscard]] std::uint64_t to_packed(std::uint64_t file) const noexcept;
  [[nodiscard]] std::uint64_t to_file(std::uint64_t packed) const noexcept;
  /// The segment that holds a packed position.
  [[nodiscard]] std::size_t segment_at(std::uint64_t packed) const noexcept;
  /// The file range that a window spans, holes included.
  [[nodiscard]] Extent window_file_range(std::size_t window) const noexcept;
  [[nodiscard]] std::size_t window_at(std::uint64_t packed) const noexcept;
  [[nodiscard]] std::size_t domain_of(std::size_t window) const noexcept;
  [[nodiscard]] std::uint64_t list_bytes() const noexcept;

  void write(Writer& out) const;
  static Layout read(Reader& in);
};

/// Lays out a collective transfer. `footprints` are those of all ranks, in rank order.
Layout make_layout(std::span<const Footprint> footprints, const Demand& demand, const Placement& placement,
                   const FileGroups& files = {});

/// Sums up the ranks' footprints for a model.
Demand demand_of(std::span<const Footprint> footprints, Direction direction, const NodeMap& nodes,
                 const StorageTraits& storage);

/// How many footprint entries a rank may tell when there are so many ranks.
std::size_t footprint_limit(int ranks) noexcept;

}  // namespace weir

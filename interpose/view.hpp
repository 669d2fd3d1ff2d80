#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>
#include <weir/declaration.hpp>

#include "cells.hpp"
#include "core/pieces.hpp"
#include "flat_type.hpp"

namespace weir::interpose {

/// What a process sees of a file: the bytes of a file type that is laid down again and again from a displacement on.
class View {
 public:
  /// The whole file, byte for byte.
  View() : View{0, 1, FlatType::byte()} {}
  View(std::uint64_t displacement, std::uint64_t element, FlatType tile)
      : origin_{tile.begin()},
        displacement_{displacement + static_cast<std::uint64_t>(origin_)},
        element_{element},
        tile_{std::move(tile)} {
    tile_.move(-origin_);
    hash_ = tile_.hash();
  }

  /// Bytes of an elementary type, in which positions are counted.
  [[nodiscard]] std::uint64_t element() const noexcept { return element_; }
  /// Whether it shows anything at all.
  [[nodiscard]] bool empty() const noexcept { return tile_.size() == 0; }

  /// The file type, moved so that it begins at 0: patterns are the same wherever in the file they are.
  [[nodiscard]] const FlatType& tile() const noexcept { return tile_; }
  /// Where it began.
  [[nodiscard]] std::int64_t origin() const noexcept { return origin_; }

  /// How the pieces of an access lie to one another, and from where on.
  struct Pattern {
    std::uint64_t hash = 0;
    std::uint64_t base = 0;
  };
  [[nodiscard]] Pattern pattern(std::uint64_t before, std::uint64_t bytes) const noexcept;
  /// Where `bytes` visible bytes lie in the file, in their order, when so many lie before them.
  [[nodiscard]] std::vector<Run> runs(std::uint64_t before, std::uint64_t bytes) const;
  /// The pieces one by one, in the order of their bytes, when it is plain to see that they are at most so many; else none.
  [[nodiscard]] std::vector<Extent> few_pieces(std::uint64_t before, std::uint64_t bytes, std::uint64_t most) const;
  /// Whether some of the pieces of a tile come again and again.
  [[nodiscard]] bool repeats_itself() const noexcept {
    return std::ranges::any_of(tile_.groups(), [](const Group& group) { return group.count > 1; });
  }
  /// The same access in few words.
  [[nodiscard]] Sketch sketch(std::uint64_t before, std::uint64_t bytes) const noexcept;
  /// And for a plan: in the order of its bytes, what lies before, in, between and behind the common cells.
  [[nodiscard]] Declaration declaration(std::uint64_t before, std::uint64_t bytes,
                                        std::span<const CommonCells> common) const;
  /// How many of these bytes lie before the first that lies at or behind `end` of the file.
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t before, std::uint64_t bytes, std::uint64_t end) const;

 private:
  /// The groups of the tile that have some of these bytes.
  [[nodiscard]] std::span<const Group> groups(std::uint64_t before, std::uint64_t bytes) const noexcept;

  std::int64_t origin_ = 0;
  std::uint64_t displacement_ = 0;  // of the moved tile
  std::uint64_t element_ = 1;
  FlatType tile_;
  std::uint64_t hash_ = 0;
};

}  // namespace weir::interpose

#pragma once

#include <cstdint>
#include <vector>
#include <weir/declaration.hpp>

#include "flat_type.hpp"

namespace weir::interpose {

/// What a process sees of a file: the bytes of a file type that is laid down again and again from a displacement on.
class View {
 public:
  /// The whole file, byte for byte.
  View() : View{0, 1, FlatType::byte()} {}
  View(std::uint64_t displacement, std::uint64_t element, FlatType tile)
      : displacement_{displacement}, element_{element}, tile_{std::move(tile)}, hash_{tile_.hash()} {}

  /// Bytes of an elementary type, in which positions are counted.
  [[nodiscard]] std::uint64_t element() const noexcept { return element_; }
  /// Whether it shows anything at all.
  [[nodiscard]] bool empty() const noexcept { return tile_.size() == 0; }

  [[nodiscard]] const FlatType& tile() const noexcept { return tile_; }

  /// How the pieces of an access lie to one another, and from where on.
  struct Pattern {
    std::uint64_t hash = 0;
    std::uint64_t base = 0;
  };
  [[nodiscard]] Pattern pattern(std::uint64_t before, std::uint64_t bytes) const noexcept;
  /// Where `bytes` visible bytes lie in the file, in their order, when so many lie before them.
  [[nodiscard]] std::vector<Run> runs(std::uint64_t before, std::uint64_t bytes) const;
  /// How many of these bytes lie before the first that lies at or behind `end` of the file.
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t before, std::uint64_t bytes, std::uint64_t end) const;

 private:
  std::uint64_t displacement_ = 0;
  std::uint64_t element_ = 1;
  FlatType tile_;
  std::uint64_t hash_;
};

}  // namespace weir::interpose

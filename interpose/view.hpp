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
  View() : tile_{FlatType::byte()} {}
  View(std::uint64_t displacement, std::uint64_t element, FlatType tile)
      : displacement_{displacement}, element_{element}, tile_{std::move(tile)} {}

  /// Bytes of an elementary type, in which positions are counted.
  [[nodiscard]] std::uint64_t element() const noexcept { return element_; }
  /// Whether it shows anything at all.
  [[nodiscard]] bool empty() const noexcept { return tile_.size() == 0; }

  /// Where `bytes` visible bytes lie in the file, in their order, when so many lie before them.
  [[nodiscard]] std::vector<Run> runs(std::uint64_t before, std::uint64_t bytes) const;

 private:
  std::uint64_t displacement_ = 0;
  std::uint64_t element_ = 1;
  FlatType tile_;
};

/// The bytes of runs that lie before `end`, as long as none lies behind; cuts the runs to them.
std::uint64_t cut(std::vector<Run>& runs, std::uint64_t end);

}  // namespace weir::interpose

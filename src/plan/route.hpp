#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/layout.hpp"

namespace weir {

/// One variable's bytes in one window. `payload` is how many bytes of the window's other variables come before.
struct Transfer {
  std::uint32_t variable;
  std::uint64_t bytes;
  std::uint64_t payload;
  std::uint64_t place = 0;                 ///< in the window's buffer, when they are one stretch,
  std::uint64_t memory = PieceList::none;  ///< and in the variable's memory; `none` when they are several

  [[nodiscard]] bool in_one_stretch() const noexcept { return memory != PieceList::none; }
};

/// What a rank (or all ranks of a node together) has to do with one window.
struct Edge {
  std::uint32_t window;
  std::uint32_t first_transfer;
  std::uint32_t transfers;
  std::uint64_t bytes;
};

/// All windows that a declaration touches, in their order.
struct Route {
  std::vector<Edge> edges;
  std::vector<Transfer> transfers;

  static Route of(const RankDeclaration& declaration, const Layout& layout);
  /// The edge of a window, or none.
  [[nodiscard]] const Edge* find(std::uint32_t window) const noexcept;
  /// The edges of a domain's windows.
  [[nodiscard]] std::span<const Edge> edges_of(const Domain& domain) const noexcept;
  /// Only those.
  [[nodiscard]] Route part(const Domain& domain) const;
  [[nodiscard]] std::uint64_t list_bytes() const noexcept {
    return edges.capacity() * sizeof(Edge) + transfers.capacity() * sizeof(Transfer);
  }
};

/// Offsets relative to a variable's place.
struct Range {
  std::uint64_t low = 0, high = ~std::uint64_t{0};
};
/// The range of a window as seen by pieces placed at `at`: empty when the window ends before it.
Range window_range(const Layout& layout, std::size_t window, std::uint64_t at) noexcept;

/// Copies one variable's pieces that lie in `window`, and in `part`, from its memory to the window's buffer.
void copy_in(const Layout& layout, std::size_t window, const PieceList& pieces, std::uint64_t at,
             const std::byte* memory, std::byte* buffer, Range part = {}) noexcept;
/// The way back.
void copy_out(const Layout& layout, std::size_t window, const PieceList& pieces, std::uint64_t at,
              const std::byte* buffer, std::byte* memory, Range part = {}) noexcept;

}  // namespace weir

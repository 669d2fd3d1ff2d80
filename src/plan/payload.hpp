#pragma once

#include "plan/plan.hpp"

namespace weir {

/// Copies bytes [begin, end) of what one inbox has for a window from packed memory, where they begin at `packed`, to the
/// window's buffer.
void payload_in(const Layout& layout, const Inbox& inbox, const Edge& edge, Range part, const std::byte* packed,
                std::byte* buffer) noexcept;
/// The way back.
void payload_out(const Layout& layout, const Inbox& inbox, const Edge& edge, Range part, const std::byte* buffer,
                 std::byte* packed) noexcept;

/// A piece of a file in memory.
struct PlacedPiece {
  std::uint64_t offset, length;
  std::byte* memory;
};
/// Adds what one inbox has for a window where it lies packed. Throws `std::bad_alloc`.
void payload_pieces(const Layout& layout, const Inbox& inbox, const Edge& edge, std::byte* packed,
                    std::vector<PlacedPiece>& pieces);

}  // namespace weir

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

/// Calls `visit(offset, length, place)` for each piece that one inbox has for a window: where it is in the file, and
/// behind how many other bytes in packed memory.
template <class Visit>
void for_each_payload_piece(const Layout& layout, const Inbox& inbox, const Edge& edge, Visit&& visit) {
  for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t) {
    const Transfer& transfer = inbox.route.transfers[t];
    const std::uint64_t at = inbox.pieces.variables[transfer.variable].at;
    const Range range = window_range(layout, edge.window, at);
    std::uint64_t place = transfer.payload;
    inbox.pieces.pieces(transfer.variable)
        .for_each(range.low, range.high, [&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
          visit(offset + at, length, place);
          place += length;
        });
  }
}

}  // namespace weir

#include "plan/payload.hpp"

#include <algorithm>

namespace weir {
namespace {

/// Calls `copy(pieces, at, memory, range)` for each variable; `memory` is where byte 0 of its pieces would be.
template <class Copy>
void by_variable(const Layout& layout, const Inbox& inbox, const Edge& edge, Range part, const std::byte* packed,
                 Copy&& copy) {
  for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t) {
    const Transfer& transfer = inbox.route.transfers[t];
    const std::uint64_t from = std::max(part.low, transfer.payload);
    const std::uint64_t to = std::min(part.high, transfer.payload + transfer.bytes);
    if (from >= to) continue;
    const std::uint64_t at = inbox.pieces.variables[transfer.variable].at;
    const PieceList& pieces = inbox.pieces.pieces(transfer.variable);
    const std::uint64_t before = pieces.bytes_before(window_range(layout, edge.window, at).low);
    const std::uint64_t first = before + (from - transfer.payload);
    const Range range{pieces.offset_at(first), pieces.offset_at(before + (to - transfer.payload) - 1) + 1};
    // Byte `first` of the pieces lies at `from - part.low`.
    copy(pieces, at, reinterpret_cast<std::uintptr_t>(packed) + (from - part.low) - first, range);
  }
}

}  // namespace

void payload_in(const Layout& layout, const Inbox& inbox, const Edge& edge, Range part, const std::byte* packed,
                std::byte* buffer) noexcept {
  by_variable(layout, inbox, edge, part, packed,
              [&](const PieceList& pieces, std::uint64_t at, std::uintptr_t memory, Range range) {
                copy_in(layout, edge.window, pieces, at, reinterpret_cast<const std::byte*>(memory), buffer, range);
              });
}

void payload_out(const Layout& layout, const Inbox& inbox, const Edge& edge, Range part, const std::byte* buffer,
                 std::byte* packed) noexcept {
  by_variable(layout, inbox, edge, part, packed,
              [&](const PieceList& pieces, std::uint64_t at, std::uintptr_t memory, Range range) {
                copy_out(layout, edge.window, pieces, at, buffer, reinterpret_cast<std::byte*>(memory), range);
              });
}

}  // namespace weir

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

}  // namespace weir

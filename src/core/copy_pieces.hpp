#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir {

template <std::size_t length>
inline void copy_strided(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from, std::ptrdiff_t from_stride,
                         std::ptrdiff_t count) noexcept {
  for (std::ptrdiff_t k = 0; k < count; ++k) std::memcpy(to + k * to_stride, from + k * from_stride, length);
}

/// `count` pieces of `length` bytes. A copy of a few bytes is only fast where their number is known when this is compiled.
inline void copy_pieces(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from, std::ptrdiff_t from_stride,
                        std::uint64_t length, std::ptrdiff_t count) noexcept {
  switch (length) {
    case 4: return copy_strided<4>(to, to_stride, from, from_stride, count);
    case 8: return copy_strided<8>(to, to_stride, from, from_stride, count);
    case 16: return copy_strided<16>(to, to_stride, from, from_stride, count);
    default:
      for (std::ptrdiff_t k = 0; k < count; ++k) std::memcpy(to + k * to_stride, from + k * from_stride, length);
  }
}

}  // namespace weir

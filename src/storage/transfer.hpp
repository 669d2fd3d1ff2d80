#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "storage/storage.hpp"

namespace weir {

/// The most that one raw call is asked to move. Linux itself stops at 2 GiB - 4 KiB.
inline constexpr std::uint64_t largest_call = std::uint64_t{1} << 30;

/// What the next raw call of a transfer asks for, or the errno that stands in its place.
struct RawCall {
  std::uint64_t length = 0;
  int error = 0;
};

/// Resets the outcome of `io`; false when it is finished already: empty, or beyond the largest offset.
bool begin(Io& io) noexcept;

/// The next raw call of `io`.
RawCall next_call(const Io& io, TransferHook* hook) noexcept;

/// Books the outcome of a raw call, bytes moved or -errno; false when `io` is finished by it.
bool book(Io& io, std::int64_t outcome) noexcept;

/// The memory where a transfer goes on, and how much of it lies together.
inline std::span<std::byte> memory_of(const Io& io) noexcept {
  if (io.parts.empty()) return {io.data + io.done, io.length - io.done};
  return {static_cast<std::byte*>(io.parts.front().iov_base), io.parts.front().iov_len};
}
/// How many whole parts a raw call of this length has.
std::size_t whole_parts(const Io& io, std::uint64_t length) noexcept;

/// Carries `io` on to its end with `raw(data, offset, length)`, which gives bytes moved or -errno.
template <class Raw>
void transfer(Io& io, TransferHook* hook, Raw raw) noexcept {
  for (bool more = begin(io); more;) {
    const RawCall call = next_call(io, hook);
    const std::span memory = memory_of(io);
    more = book(
        io, call.error ? -call.error : raw(memory.data(), io.offset + io.done, std::min(call.length, memory.size())));
  }
}

}  // namespace weir

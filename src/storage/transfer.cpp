#include "storage/transfer.hpp"

#include <limits>

namespace weir {
namespace {

void drop_first(std::span<iovec>& parts, std::uint64_t bytes) noexcept {
  while (!parts.empty() && bytes > 0) {
    iovec& first = parts.front();
    const std::uint64_t taken = std::min<std::uint64_t>(bytes, first.iov_len);
    first.iov_base = static_cast<std::byte*>(first.iov_base) + taken;
    first.iov_len -= taken;
    bytes -= taken;
    if (first.iov_len == 0) parts = parts.subspan(1);
  }
}

}  // namespace

bool begin(Io& io) noexcept {
  constexpr std::uint64_t end = std::numeric_limits<std::int64_t>::max();
  io.done = 0;
  io.error = io.offset > end || io.length > end - io.offset ? EOVERFLOW : 0;
  io.finished = io.error != 0 || io.length == 0;
  return !io.finished;
}

RawCall next_call(const Io& io, TransferHook* hook) noexcept {
  RawCall call{std::min(io.length - io.done, largest_call)};
  if (hook) call.error = hook->before(io.kind, call.length);
  return call;
}

std::size_t whole_parts(const Io& io, std::uint64_t length) noexcept {
  std::size_t count = 0;
  for (; count < io.parts.size() && count < Io::most_parts && io.parts[count].iov_len <= length; ++count)
    length -= io.parts[count].iov_len;
  return count;
}

bool book(Io& io, std::int64_t outcome) noexcept {
  if (outcome == -EINTR) return true;
  if (outcome > 0) {
    io.done += static_cast<std::uint64_t>(outcome);
    drop_first(io.parts, static_cast<std::uint64_t>(outcome));
    if (io.done < io.length) return true;
  } else if (outcome < 0) {
    io.error = static_cast<int>(-outcome);
  } else if (io.kind == Io::Kind::write) {
    io.error = EIO;  // no progress and no reason: asking again could go on for ever
  }
  io.finished = true;
  return false;
}

}  // namespace weir

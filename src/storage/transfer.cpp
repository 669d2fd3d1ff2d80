#include "storage/transfer.hpp"

#include <limits>

namespace weir {

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

bool book(Io& io, std::int64_t outcome) noexcept {
  if (outcome == -EINTR) return true;
  if (outcome > 0) {
    io.done += static_cast<std::uint64_t>(outcome);
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

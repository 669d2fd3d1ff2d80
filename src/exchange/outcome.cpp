#include "exchange/outcome.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

#include "core/errors.hpp"

namespace weir {

void Outcome::fail(const Status& status, int failed_rank) noexcept {
  if (code != 0 || status.ok()) return;
  code = static_cast<std::int32_t>(status.code());
  rank = failed_rank;
  const std::size_t length = std::min(status.message().size(), message.size() - 1);
  std::memcpy(message.data(), status.message().data(), length);
  message[length] = 0;
}

void Outcome::hear(int other_code) noexcept {
  if (code != 0 || other_code == 0) return;
  code = other_code;
  rank = std::numeric_limits<std::int32_t>::max();  // others go first
  message[0] = 0;
}

Outcome& Outcome::operator=(const Outcome& other) noexcept {
  std::memcpy(static_cast<void*>(this), &other, offsetof(Outcome, message) + 1);
  if (code != 0) message = other.message;
  return *this;
}

void Outcome::combine(const Outcome& other) noexcept {
  bytes += other.bytes;
  vote = std::min(vote, other.vote);
  most = std::max(most, other.most);
  flags |= other.flags;
  nearest = std::min(nearest, other.nearest);
  farthest = std::max(farthest, other.farthest);
  if (other.call != call && other_call == 0) other_call = other.call;
  if (other.other_call != 0 && other_call == 0) other_call = other.other_call;
  if (other.code != 0 && (code == 0 || other.rank < rank)) {
    code = other.code;
    rank = other.rank;
    message = other.message;
  }
}

Status status_of(const Outcome& outcome) noexcept {
  if (outcome.other_call != 0)
    return problem(Code::mismatch, "cannot go on: the ranks made different collective calls",
                   "collective calls are made by all ranks in the same order");
  if (outcome.code == 0) return Status::done(outcome.bytes);
  try {
    return {static_cast<Code>(outcome.code), outcome.message.data(), outcome.bytes};
  } catch (const std::bad_alloc&) {
    return {static_cast<Code>(outcome.code), {}, outcome.bytes};
  }
}

}  // namespace weir

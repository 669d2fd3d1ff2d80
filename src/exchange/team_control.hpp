#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "core/errors.hpp"
#include "exchange/team.hpp"

namespace weir {

/// The last collective calls of a rank, for those who wait for it.
class Journal {
 public:
  void add(std::uint64_t call) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    calls_[head % length].store(call);
    head_.store(head + 1);
  }
  /// All ranks know of a difference: they begin anew.
  void forget() noexcept { head_.store(((head_.load() >> 32) + 1) << 32); }
  /// Where both have an n-th call and the two differ: the other's, else 0.
  [[nodiscard]] std::uint64_t difference(const Journal& other) const noexcept {
    const std::uint64_t mine = head_.load(), theirs = other.head_.load();
    if (mine >> 32 != theirs >> 32) return 0;
    const std::uint64_t last = std::max(mine, theirs), begin = mine >> 32 << 32;
    for (std::uint64_t n = std::max(begin + length, last) - length; n < std::min(mine, theirs); ++n)
      if (const std::uint64_t call = calls_[n % length].load(), there = other.calls_[n % length].load(); call != there)
        return other.head_.load() == theirs && ((call | there) & Team::moves_data) ? there : 0;
    return 0;
  }

 private:
  static constexpr std::uint64_t length = 16;
  std::atomic<std::uint64_t> head_;  // how often it was begun anew, and the number of calls since
  std::array<std::atomic<std::uint64_t>, length> calls_;  // the n-th at n mod length
};

/// The first page of what a rank shows to its node.
struct Team::Control {
  Doorbell doorbell;
  Journal journal;
  struct Shown {
    std::uint64_t offset;             // in the node's room, or 0:
    SharedSegment::Address address;   // where it is outside
    std::atomic<std::uint32_t> generation;
  };
  std::array<Shown, segments> shown;
  std::array<std::atomic<std::uint64_t>, first_free_segment> posted;  // bytes, in the segments used for announcements
  std::array<std::atomic<std::uint64_t>, first_free_segment> posted_abroad;  // of these, for other nodes
  std::uint64_t handed_pieces, handed_bytes;
  alignas(64) Outcome outcome;
  std::atomic<std::uint32_t> heard;  // the last agreement whose result the rank knows
  // Used in the page of the node's first rank:
  alignas(64) std::atomic<std::uint32_t> arrived;
  alignas(64) std::atomic<std::uint32_t> generation;
  std::atomic<std::uint32_t> node_complete;
  std::atomic<std::uint32_t> awaits_others;
  std::atomic<std::uint32_t> sleepers;  // that wait for `generation`
  std::atomic<std::uint64_t> dropped_out;  // the call in whose place a rank does nothing any more, or 0
  alignas(64) Outcome result;
  double announced_s;  // when
  std::array<BankAccount, shared_accounts> accounts;
};

inline Status shortage() noexcept {
  return problem(Code::no_memory, "out of memory", "lower plan.memory, or give the job more memory");
}

}  // namespace weir

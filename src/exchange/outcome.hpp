#pragma once

#include <array>
#include <cstdint>

#include <weir/status.hpp>

namespace weir {

/// What a rank brings to an agreement, and what all take from it: the error of the lowest rank that has one.
struct Outcome {
  std::int32_t code = 0;      ///< a weir::Code
  std::int32_t rank = -1;     ///< who failed
  std::uint64_t call = 0;     ///< which collective call this is
  std::uint64_t other_call = 0;
  std::uint64_t bytes = 0;    ///< summed
  std::uint64_t vote = 0;     ///< the least of all
  std::uint64_t most = 0;     ///< the most of all
  std::uint64_t flags = 0;    ///< of any
  std::uint64_t nearest = 0;  ///< the least of all, as `vote`
  std::uint64_t farthest = 0; ///< the most of all
  std::array<char, 440> message;  ///< of `code`, when there is one; else not set, so that copying costs little
  /// A flag: this rank has done what the others must do too, and cannot take it back when they called something else.
  static constexpr std::uint64_t committed = std::uint64_t{1} << 62;

  /// Flags: this rank cannot use remote memory; and only what it had there before a loss that is known.
  static constexpr std::uint64_t lost = std::uint64_t{1} << 61, stale = std::uint64_t{1} << 60;

  Outcome() noexcept { message[0] = 0; }
  Outcome(const Outcome& other) noexcept { *this = other; }
  Outcome& operator=(const Outcome& other) noexcept;

  void fail(const Status& status, int failed_rank) noexcept;
  /// Another rank failed, and will tell more about it when all agree.
  void hear(int other_code) noexcept;
  /// Whether somebody failed, or the ranks called different things.
  [[nodiscard]] bool failed() const noexcept { return code != 0 || other_call != 0; }
  void combine(const Outcome& other) noexcept;
};

/// What an outcome says to the caller.
Status status_of(const Outcome& outcome) noexcept;

}  // namespace weir

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::interpose {

/// Elements of a list, from `first` on `period` of them, that come `count` times, each time moved by as much.
struct Repetition {
  std::size_t first, period, count;
  [[nodiscard]] std::size_t end() const noexcept { return first + period * count; }
};

/// How many elements from `first` on equal those from `first + k` on, for every k: each is looked at twice at most.
template <class Same>
std::vector<std::uint32_t> matches(std::size_t first, std::size_t end, Same&& same) {
  const std::size_t n = end - first;
  std::vector<std::uint32_t> match(n, 0);
  std::size_t left = 0, right = 0;  // the match that reaches farthest
  for (std::size_t k = 1; k < n; ++k) {
    std::size_t m = k < right ? std::min<std::size_t>(match[k - left], right - k) : 0;
    while (k + m < n && same(first + m, first + k + m)) ++m;
    match[k] = static_cast<std::uint32_t>(m);
    if (k + m > right) left = k, right = k + m;
  }
  return match;
}

/// The repetition that begins at `first` and has most elements, with the shortest period that has nearly as many.
///
/// `same_step(i, j)`: elements i and j are equal, and the next ones lie equally far from them; `same(i, j)`: the
/// elements alone.
template <class SameStep, class Same>
std::optional<Repetition> longest_repetition(std::size_t first, std::size_t end, SameStep&& same_step, Same&& same) {
  constexpr std::size_t least = 4;  // times
  const auto match = matches(first, end - 1, same_step);
  const auto times = [&](std::size_t period) {
    std::size_t equal = match[period];
    if (same(first + equal, first + period + equal)) ++equal;  // what comes after does not count for the last
    return equal / period + 1;
  };
  std::size_t most = 0;
  for (std::size_t p = 1; p < match.size(); ++p)
    if (match[p] + 1 >= (least - 1) * p) most = std::max(most, times(p) * p);
  for (std::size_t p = 1; p < match.size() && most > 0; ++p)
    if (match[p] + 1 >= (least - 1) * p && times(p) >= least && times(p) * p >= most - most / 8)
      return Repetition{first, p, times(p)};
  return std::nullopt;
}

/// The repetitions in a list that has many elements; the first may have a few others before it. The work is linear in
/// their number: what is not repeated soon is not searched on.
template <class SameStep, class Same>
std::vector<Repetition> repetitions(std::size_t elements, SameStep&& same_step, Same&& same) {
  constexpr std::size_t worth_it = 256, attempts = 4;
  std::vector<Repetition> found;
  std::size_t failed = 0;
  for (std::size_t first = 0; failed < attempts && elements - first >= worth_it;) {
    const auto next = longest_repetition(first, elements, same_step, same);
    if (next && next->end() - first >= (elements - first) / 4) {
      found.push_back(*next);
      first = next->end();
    } else {
      ++failed;
      ++first;
    }
  }
  return found;
}

}  // namespace weir::interpose

#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <string_view>

namespace weir {

/// Letters to insert, remove, change or swap with their neighbour to make one word out of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `names` that a user who wrote `name` most probably meant.
template <std::ranges::forward_range Names>
auto nearest(std::string_view name, const Names& names) {
  return *std::ranges::min_element(names, {}, [&](std::string_view other) { return edit_distance(name, other); });
}

}  // namespace weir

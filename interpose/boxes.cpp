#include "boxes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weir::interpose {

namespace {

MPI_Offset count_along(const GivenBoxes& given, int box, std::size_t dimension) noexcept {
  return given.counts && given.counts[box] ? given.counts[box][dimension] : 1;
}

/// Adds the rows of a box of `size` elements along each dimension at `start`, joined where they follow one another.
void add_rows(std::span<const MPI_Offset> shape, const MPI_Offset* start, const MPI_Offset* size, Boxes& boxes) {
  const std::size_t last = shape.size() - 1;
  std::vector<MPI_Offset> at(start, start + shape.size());
  while (true) {
    MPI_Offset place = 0;
    for (std::size_t d = 0; d <= last; ++d) place = place * shape[d] + at[d];
    Boxes::Piece* const before = boxes.pieces.empty() ? nullptr : &boxes.pieces.back();
    if (before && before->at + before->length == place)
      before->length += size[last];
    else
      boxes.pieces.push_back({place, size[last], boxes.elements});
    boxes.elements += size[last];
    std::size_t d = last;
    while (d > 0 && ++at[d - 1] == start[d - 1] + size[d - 1]) {
      at[d - 1] = start[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

/// Sorts the pieces; false where they overlap.
bool put_in_order(Boxes& boxes) {
  const auto lower = [](const Boxes::Piece& a, const Boxes::Piece& b) { return a.at < b.at; };
  if (!std::ranges::is_sorted(boxes.pieces, lower)) {
    boxes.in_order = false;
    std::ranges::sort(boxes.pieces, lower);
  }
  return std::ranges::adjacent_find(
             boxes.pieces, [](const auto& a, const auto& b) { return a.at + a.length > b.at; }) == boxes.pieces.end();
}

template <class Word>
void copy_reversed(const std::byte* from, std::size_t words, std::byte* to) noexcept {
  for (std::size_t i = 0; i < words; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    if constexpr (sizeof word == 2) word = __builtin_bswap16(word);
    if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
    if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

/// To the order of bytes in a file, which is that of the highest first.
void copy_to_file(const std::byte* from, std::size_t elements, std::size_t element, std::byte* to) noexcept {
  const bool same = std::endian::native == std::endian::big;
  if (element == 2 && !same) return copy_reversed<std::uint16_t>(from, elements, to);
  if (element == 4 && !same) return copy_reversed<std::uint32_t>(from, elements, to);
  if (element == 8 && !same) return copy_reversed<std::uint64_t>(from, elements, to);
  std::memcpy(to, from, elements * element);
}

}  // namespace

std::optional<Boxes> Boxes::of(const GivenBoxes& given) {
  Boxes boxes;
  const std::size_t dimensions = given.shape.size(), before = given.in_record ? 1 : 0;
  boxes.shape.assign(given.shape.begin(), given.shape.end());
  boxes.starts.reserve(static_cast<std::size_t>(given.count) * dimensions);
  boxes.counts.reserve(static_cast<std::size_t>(given.count) * dimensions);
  for (int box = 0; box < given.count; ++box) {
    const MPI_Offset* const start = given.starts[box];
    if (!start) return {};
    if (given.in_record && (start[0] < 0 || start[0] != given.starts[0][0] || count_along(given, box, 0) != 1))
      return {};
    for (std::size_t d = 0; d < dimensions; ++d) {
      const MPI_Offset at = start[before + d], size = count_along(given, box, before + d);
      if (at < 0 || size <= 0 || at >= given.shape[d] || size > given.shape[d] - at) return {};
      boxes.starts.push_back(at);
      boxes.counts.push_back(size);
    }
    add_rows(boxes.shape, &boxes.starts[boxes.starts.size() - dimensions],
             &boxes.counts[boxes.counts.size() - dimensions], boxes);
  }
  if (!put_in_order(boxes)) return {};
  return boxes;
}

bool Boxes::is(const GivenBoxes& given) const noexcept {
  if (!std::ranges::equal(shape, given.shape) || count() != static_cast<std::size_t>(given.count)) return false;
  const std::size_t before = given.in_record ? 1 : 0;
  std::size_t next = 0;
  for (int box = 0; box < given.count; ++box) {
    if (!given.starts[box]) return false;
    if (given.in_record && (given.starts[box][0] != given.starts[0][0] || count_along(given, box, 0) != 1))
      return false;
    for (std::size_t d = 0; d < shape.size(); ++d, ++next)
      if (given.starts[box][before + d] != starts[next] || count_along(given, box, before + d) != counts[next])
        return false;
  }
  return true;
}

void Boxes::to_file_order(const std::byte* data, std::size_t element, std::byte* result) const noexcept {
  if (in_order) return copy_to_file(data, static_cast<std::size_t>(elements), element, result);
  for (const Piece& piece : pieces) {
    const auto length = static_cast<std::size_t>(piece.length);
    copy_to_file(data + static_cast<std::size_t>(piece.element) * element, length, element, result);
    result += length * element;
  }
}

}  // namespace weir::interpose

#include "contents.hpp"

#include <algorithm>
#include <cstring>

namespace weir::bench {
namespace {

constexpr std::uint64_t word_bytes = 8;

std::uint64_t word(std::uint64_t index, std::uint64_t seed) {
  std::uint64_t z = index * 0x9E3779B97F4A7C15 + seed * 0xD1342543DE82EF95;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

/// Calls `each(position, bytes, count)` for the parts of [0, length) that lie in one word of the file, until it is
/// false.
template <class Each>
void for_each_word(std::uint64_t length, std::uint64_t file_offset, std::uint64_t seed, Each each) {
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t at = file_offset + done;
    const std::uint64_t skip = at % word_bytes;
    const std::uint64_t count = std::min(word_bytes - skip, length - done);
    const std::uint64_t value = word(at / word_bytes, seed);
    if (!each(done, reinterpret_cast<const std::byte*>(&value) + skip, count)) return;
    done += count;
  }
}

}  // namespace

void fill(std::span<std::byte> data, std::uint64_t file_offset, std::uint64_t seed) {
  for_each_word(data.size(), file_offset, seed,
                [&](std::uint64_t position, const std::byte* bytes, std::uint64_t count) {
                  std::memcpy(data.data() + position, bytes, count);
                  return true;
                });
}

std::optional<std::uint64_t> first_difference(std::span<const std::byte> data, std::uint64_t file_offset,
                                              std::uint64_t seed) {
  std::optional<std::uint64_t> difference;
  for_each_word(data.size(), file_offset, seed,
                [&](std::uint64_t position, const std::byte* bytes, std::uint64_t count) {
                  if (std::memcmp(data.data() + position, bytes, count) == 0) return true;
                  const auto [wrong, right] = std::mismatch(bytes, bytes + count, data.data() + position);
                  difference = position + static_cast<std::uint64_t>(wrong - bytes);
                  return false;
                });
  return difference;
}

}  // namespace weir::bench

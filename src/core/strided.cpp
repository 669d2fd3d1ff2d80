#include "core/strided.hpp"

#include <xxhash.h>

namespace weir {

std::uint64_t StridedList::hash(std::uint64_t seed) const noexcept {
  static_assert(sizeof(Entry) == 32 && sizeof(Pattern) == 24, "no padding");
  return XXH3_64bits_withSeed(patterns_.data(), patterns_.size() * sizeof(Pattern),
                              XXH3_64bits_withSeed(entries_.data(), entries_.size() * sizeof(Entry), seed));
}

}  // namespace weir

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace weir::testing {

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// How many random cases to try where 500 is usual: RANDOM_CASES says how many instead of 500.
inline std::uint64_t cases(std::uint64_t usual) {
  return std::max<std::uint64_t>(1, usual * from_environment("RANDOM_CASES", 500) / 500);
}

}  // namespace weir::testing

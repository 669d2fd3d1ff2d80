#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::testing {

using Bytes = std::vector<unsigned char>;

/// What belongs at a place of the file; never 0, so that a hole is no match.
inline unsigned char pattern(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<unsigned char>(1 + (offset * 131 + offset / 251 + seed * 17) % 255);
}

void append_pattern(Bytes& bytes, std::uint64_t seed, std::uint64_t offset, std::uint64_t length);
Bytes pattern_file(std::uint64_t seed, std::uint64_t size);
/// How many bytes of a file's beginning are as the pattern says.
std::uint64_t bytes_of_pattern(const Bytes& bytes, std::uint64_t seed);

/// A byte that tells where it came from.
inline unsigned char content(std::uint64_t seed, int rank, int variable, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(rank) * 0xbf58476d1ce4e5b9u +
                    static_cast<std::uint64_t>(variable) * 0x94d049bb133111ebu + index;
  x ^= x >> 31;
  x *= 0xd6e8feb86659fd93u;
  return static_cast<unsigned char>(x >> 56);
}

void fill_content(Bytes& bytes, std::uint64_t seed, int rank, int variable);

/// Where two byte strings of the same length first differ; their length when they do not.
std::size_t first_difference(const Bytes& found, const Bytes& expected);

/// What the file holds; nothing when it cannot be read.
Bytes contents(const std::string& path);
void put(const std::string& path, const Bytes& bytes);

}  // namespace weir::testing

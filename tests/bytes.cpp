#include "bytes.hpp"

#include <algorithm>
#include <fstream>

namespace weir::testing {

void append_pattern(Bytes& bytes, std::uint64_t seed, std::uint64_t offset, std::uint64_t length) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + length);
  for (std::uint64_t i = 0; i < length; ++i) bytes[begin + i] = pattern(seed, offset + i);
}

Bytes pattern_file(std::uint64_t seed, std::uint64_t size) {
  Bytes bytes;
  append_pattern(bytes, seed, 0, size);
  return bytes;
}

std::uint64_t bytes_of_pattern(const Bytes& bytes, std::uint64_t seed) {
  std::uint64_t right = 0;
  for (std::uint64_t i = 0; i < bytes.size(); ++i) right += bytes[i] == pattern(seed, i);
  return right;
}

void fill_content(Bytes& bytes, std::uint64_t seed, int rank, int variable) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = content(seed, rank, variable, i);
}

std::size_t first_difference(const Bytes& found, const Bytes& expected) {
  return static_cast<std::size_t>(std::mismatch(found.begin(), found.end(), expected.begin()).first - found.begin());
}

Bytes contents(const std::string& path) {
  std::ifstream in{path, std::ios::binary | std::ios::ate};
  if (!in) return {};
  Bytes bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

void put(const std::string& path, const Bytes& bytes) {
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
}

}  // namespace weir::testing

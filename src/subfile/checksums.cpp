#include "subfile/checksums.hpp"

#include <algorithm>
#include <cerrno>

#include "core/xxh3.hpp"
#include "storage/complete.hpp"

namespace weir {

void make_checksums(const std::byte* data, std::uint64_t bytes, std::uint64_t* sums) noexcept {
  for (std::uint64_t at = 0; at < bytes; at += checksum_block)
    *sums++ = XXH3_64bits(data + at, std::min(checksum_block, bytes - at));
}

Verifier::Verifier(std::vector<StoredVariable> variables) {
  std::sort(variables.begin(), variables.end(),
            [](const StoredVariable& a, const StoredVariable& b) { return a.offset < b.offset; });
  std::uint64_t blocks = 0, longest = 0;
  for (const StoredVariable& variable : variables) {
    variables_.push_back({variable, blocks});
    blocks += checksums_of(variable.bytes);
    longest = std::max(longest, variable.bytes);
  }
  verified_.resize(blocks);
  scratch_.resize(std::min(longest, checksum_block));
}

int Verifier::check(Storage& storage, std::uint64_t offset, std::span<const std::byte> data, Extent& bad) noexcept {
  const std::uint64_t end = offset + data.size();
  auto variable =
      std::partition_point(variables_.begin(), variables_.end(), [&](const Variable& v) { return v.end() <= offset; });
  for (; variable != variables_.end() && variable->offset < end; ++variable) {
    const std::uint64_t from = std::max(offset, variable->offset) - variable->offset;
    const std::uint64_t to = std::min(end, variable->end()) - variable->offset;
    for (std::uint64_t block = from / checksum_block; block * checksum_block < to; ++block)
      if (const int error = check_block(storage, *variable, block, offset, data, bad)) return error;
  }
  return 0;
}

int Verifier::check_block(Storage& storage, const Variable& variable, std::uint64_t block, std::uint64_t offset,
                          std::span<const std::byte> data, Extent& bad) noexcept {
  const std::uint64_t at = variable.offset + block * checksum_block;
  const std::uint64_t length = std::min(checksum_block, variable.end() - at);
  const bool whole = at >= offset && at + length <= offset + data.size();
  const std::uint64_t number = variable.first_block + block;
  const std::byte* bytes = scratch_.data();
  if (whole) {
    bytes = data.data() + (at - offset);
  } else {
    if (verified_[number]) return 0;
    Io io{.kind = Io::Kind::read, .data = scratch_.data(), .offset = at, .length = length};
    complete(storage, io);
    if (io.error != 0) return io.error;
    if (io.done < length) return bad = {at, length}, EILSEQ;
  }
  if (XXH3_64bits(bytes, length) != variable.sums[block]) return bad = {at, length}, EILSEQ;
  if (!whole) verified_[number] = true;
  return 0;
}

}  // namespace weir

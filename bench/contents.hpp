#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weir::bench {

/// What the benchmark's files hold: every byte follows from its place in the file and the seed of the run, so that
/// neither data of an earlier run nor data in the wrong place can pass for right.
void fill(std::span<std::byte> data, std::uint64_t file_offset, std::uint64_t seed);

/// The first byte that is not what `fill` would have put there.
std::optional<std::uint64_t> first_difference(std::span<const std::byte> data, std::uint64_t file_offset,
                                              std::uint64_t seed);

}  // namespace weir::bench

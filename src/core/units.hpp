#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// "64 MiB", "1.5 GiB", "512 B".
std::string format_bytes(std::uint64_t bytes);
/// "1.23 ms", "450 us", "2.5 s".
std::string format_seconds(double seconds);
/// Reads "64MiB", "64 MiB", "16k", "1.5GiB", "4096", "10MB"; k, M, G, T alone are powers of 1024. Nothing when malformed.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace weir

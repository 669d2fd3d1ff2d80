#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>
#include <weir/status.hpp>

namespace weir {

/// What the processes of a job know and nobody else does. It never crosses a connection.
using Secret = std::vector<std::byte>;
using Mac = std::array<std::byte, 32>;

/// Reads a file that only its owner, this user, may read: 16 to 4096 bytes.
Result<Secret> read_secret(const std::string& path);
/// Makes such a file of 32 random bytes, unless it is there.
Status make_secret(const std::string& path);

/// HMAC-SHA256.
Result<Mac> mac_of(std::span<const std::byte> secret, std::span<const std::byte> message);
/// In a time that tells nothing about where they differ.
bool same(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

Status fill_random(std::span<std::byte> bytes) noexcept;
template <std::size_t N>
Result<std::array<std::byte, N>> random_bytes() {
  std::array<std::byte, N> bytes{};
  if (Status status = fill_random(bytes); !status) return status;
  return bytes;
}

}  // namespace weir

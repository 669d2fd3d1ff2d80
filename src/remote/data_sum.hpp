#pragma once

#define XXH_STATIC_LINKING_ONLY  // the state itself
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

/// The checksum of bytes that come in parts.
class DataSum {
 public:
  DataSum() noexcept { restart(); }
  void restart() noexcept;
  void add(std::span<const std::byte> part) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept;
  static std::uint64_t of(std::span<const std::byte> all) noexcept;

 private:
  XXH3_state_t state_;
};

}  // namespace weir

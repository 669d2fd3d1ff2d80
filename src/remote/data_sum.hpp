#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/xxh3.hpp"

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

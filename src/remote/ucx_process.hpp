#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/archive.hpp"

namespace weir {

/// What a server asks of the process that serves one of its clients through UCX. With `lend` goes the descriptor of the
/// region's memory, and an answer comes.
struct LenderRequest {
  enum class Verb : std::uint64_t { lend, free };
  Verb verb = Verb::lend;
  std::uint64_t region = 0, bytes = 0;
};

struct LenderAnswer {
  std::uint64_t code = 0;  ///< a `Code`
  std::string message;
  std::uint64_t address = 0;
  std::vector<char> key, worker;

  static constexpr std::size_t most_bytes = 64 << 10;
  [[nodiscard]] std::vector<std::byte> encode() const;
  static std::optional<LenderAnswer> decode(std::span<const std::byte> message);
};

/// The life of such a process, just forked, until the other end of the socket is closed. It keeps no other descriptor.
[[noreturn]] void serve_through_ucx(int socket) noexcept;

}  // namespace weir

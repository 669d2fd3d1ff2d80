#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// What goes over a socket for data, in the byte order of the processors that Weir runs on. Requests are carried out
/// and answered in their order: a put by nothing, its data comes behind the heading; a get by the checksum of its bytes and
/// these; a settle by its number, when all that was put before is in place.
namespace weir {

/// Says which client a new connection for data belongs to: only that one was told.
using Ticket = std::array<std::byte, 16>;

enum class TransferVerb : std::uint32_t { put = 1, get = 2, settle = 3 };

struct TransferHeading {
  static constexpr std::uint32_t expected_magic = 0x44494557;

  std::uint32_t magic = expected_magic;
  TransferVerb verb = TransferVerb::settle;
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;     ///< of a settle: its number
  std::uint64_t data_sum = 0;  ///< of the bytes of a put
  std::uint64_t sum = 0;       ///< of what stands before it

  void seal() noexcept { sum = right_sum(); }
  [[nodiscard]] bool is_right() const noexcept { return magic == expected_magic && sum == right_sum(); }

 private:
  [[nodiscard]] std::uint64_t right_sum() const noexcept;
};
static_assert(sizeof(TransferHeading) == 48);

}  // namespace weir

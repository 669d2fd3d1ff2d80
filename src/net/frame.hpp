#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>
#include <weir/status.hpp>

namespace weir {

/// Of frames and everything in them. Both sides must have the same.
inline constexpr std::uint16_t protocol_version = 1;

/// Types below `first` belong to the connection, the others to the service that it carries.
struct FrameType {
  static constexpr std::uint16_t none = 0, hello = 1, challenge = 2, proof = 3, welcome = 4, refused = 5, again = 6,
                                 first = 16;
};

/// What stands before every message on a connection, in the byte order of the processors that Weir runs on.
struct FrameHeader {
  static constexpr std::uint32_t expected_magic = 0x52494557;  // "WEIR"

  std::uint32_t magic = expected_magic;
  std::uint16_t version = protocol_version;
  std::uint16_t type = 0;
  std::uint64_t sequence = 0;
  std::uint64_t length = 0;
  std::uint64_t payload_sum = 0;
  std::uint64_t header_sum = 0;  ///< of what stands before it
};
static_assert(sizeof(FrameHeader) == 40);

struct Frame {
  std::uint16_t type = FrameType::none;
  std::uint64_t sequence = 0;
  std::vector<std::byte> payload;
  bool damaged = false;  ///< the payload's checksum is wrong: to be asked for again
};

std::vector<std::byte> encode_frame(std::uint16_t type, std::uint64_t sequence, std::span<const std::byte> payload,
                                    std::uint16_t version = protocol_version);

/// Makes frames of bytes as they come in. Nothing is allocated for a payload before its header has proved right and its
/// length is within the limit.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::uint64_t most_payload) : most_payload_{most_payload} {}
  void set_limit(std::uint64_t most_payload) noexcept { most_payload_ = most_payload; }

  /// Takes from the front of `data`, up to the end of a frame. After an error there is no way on: `corrupt` when these
  /// are no frames, `unsupported` for another version, `too_large`.
  Result<std::optional<Frame>> take(std::span<const std::byte>& data);

  /// Whether a frame has begun and is not complete.
  [[nodiscard]] bool is_midway() const noexcept { return header_bytes_ > 0; }

 private:
  Status check_header();

  std::uint64_t most_payload_;
  FrameHeader header_;
  std::size_t header_bytes_ = 0;
  std::vector<std::byte> payload_;
  std::size_t payload_bytes_ = 0;
};

}  // namespace weir

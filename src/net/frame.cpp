#include "net/frame.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {
namespace {

std::uint64_t header_sum_of(const FrameHeader& header) {
  return XXH3_64bits(&header, offsetof(FrameHeader, header_sum));
}

std::uint64_t payload_sum_of(std::span<const std::byte> payload) { return XXH3_64bits(payload.data(), payload.size()); }

/// Copies from the front of `data` until `have` is `want`.
void fill(void* to, std::size_t& have, std::size_t want, std::span<const std::byte>& data) {
  const std::size_t bytes = std::min(want - have, data.size());
  if (bytes > 0) std::memcpy(static_cast<std::byte*>(to) + have, data.data(), bytes);
  have += bytes;
  data = data.subspan(bytes);
}

}  // namespace

std::vector<std::byte> encode_frame(std::uint16_t type, std::uint64_t sequence, std::span<const std::byte> payload,
                                    std::uint16_t version) {
  FrameHeader header;
  header.version = version;
  header.type = type;
  header.sequence = sequence;
  header.length = payload.size();
  header.payload_sum = payload_sum_of(payload);
  header.header_sum = header_sum_of(header);
  std::vector<std::byte> bytes(sizeof header + payload.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!payload.empty()) std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
  return bytes;
}

Status FrameDecoder::check_header() {
  if (header_.magic != FrameHeader::expected_magic)
    return problem(Code::corrupt, "cannot read from a connection: the other side does not speak Weir's protocol");
  if (header_.header_sum != header_sum_of(header_))
    return problem(Code::corrupt, "cannot read from a connection: a frame's header is damaged");
  if (header_.version != protocol_version)
    return problem(
        Code::unsupported,
        [&] {
          return fmt::format(
              "cannot understand the other side: it speaks version {} of the protocol, this side version {}",
              header_.version, protocol_version);
        },
        "use the same version of Weir on both sides");
  if (header_.length > most_payload_)
    return problem(Code::too_large, [&] {
      return fmt::format("cannot read from a connection: a frame announces {}, more than {}",
                         format_bytes(header_.length), format_bytes(most_payload_));
    });
  return {};
}

Result<std::optional<Frame>> FrameDecoder::take(std::span<const std::byte>& data) {
  if (header_bytes_ < sizeof header_) {
    fill(&header_, header_bytes_, sizeof header_, data);
    // What does not begin like a frame is told at once, not after a header's worth of it.
    if (header_bytes_ >= sizeof header_.magic && header_.magic != FrameHeader::expected_magic) return check_header();
    if (header_bytes_ < sizeof header_) return std::optional<Frame>{};
    if (Status status = check_header(); !status) return status;
    payload_.resize(header_.length);
    payload_bytes_ = 0;
  }
  fill(payload_.data(), payload_bytes_, payload_.size(), data);
  if (payload_bytes_ < payload_.size()) return std::optional<Frame>{};
  header_bytes_ = 0;
  const bool damaged = payload_sum_of(payload_) != header_.payload_sum;
  return std::optional{Frame{header_.type, header_.sequence, std::exchange(payload_, {}), damaged}};
}

}  // namespace weir

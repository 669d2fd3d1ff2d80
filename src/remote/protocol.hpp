#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/archive.hpp"
#include "net/frame.hpp"
#include "remote/remote_memory.hpp"

/// What clients and memory servers say to one another, in frames of a connection.
namespace weir {

struct MemoryMessage {
  static constexpr std::uint16_t allocate = FrameType::first, attach = 17, release = 18, beat = 19, status = 20,
                                 join = 21;
  static constexpr std::uint16_t region = 32, done = 33, report = 34;
};

/// Ways to reach a region, as bits of what both sides can do.
struct MemoryFeature {
  static constexpr std::uint64_t mapped = 1, ucx = 2, socket = 4;
};

/// Which part of a region is on a server: of stripes that go round the parts in turn. For clients alone.
struct RegionPart {
  std::uint64_t whole = 0;   ///< bytes of the region
  std::uint64_t stripe = 0;  ///< bytes
  std::uint32_t part = 0, parts = 1;

  bool operator==(const RegionPart&) const = default;
};

struct AllocateRequest {
  RegionName name;
  std::uint64_t bytes = 0;
  std::uint64_t access = 0;  ///< a `MemoryFeature`
  RegionPart part = {};
};

struct AttachRequest {
  RegionName name;
  std::uint64_t access = 0;
};

struct ReleaseRequest {
  std::uint64_t region = 0;
};

/// What a client has moved since it connected.
struct Moved {
  std::uint64_t put = 0, got = 0;
};

/// A region lent: the descriptor goes with it where it is mapped; elsewhere the keys of the data plane are in it.
struct RegionAnswer {
  std::uint64_t region = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
  std::vector<char> key;
  std::vector<char> worker;
  RegionPart part = {};

  [[nodiscard]] std::vector<std::byte> encode() const;
  static std::optional<RegionAnswer> decode(std::span<const std::byte> payload);
};

struct ClientReport {
  std::uint64_t session = 0;
  std::int64_t pid = 0;  ///< 0: on another machine
  std::uint64_t regions = 0, bytes = 0, attached = 0;
  Moved moved;
  double put_rate = 0, get_rate = 0;  ///< bytes a second, lately
};

struct MemoryReport {
  double uptime_s = 0;
  std::uint64_t size = 0, used = 0, regions = 0, quota = 0;
  std::uint64_t accepted = 0, refused = 0, dropped = 0, damaged = 0, requests = 0;
  std::string job;
  std::vector<ClientReport> clients;

  [[nodiscard]] std::vector<std::byte> encode() const;
  static std::optional<MemoryReport> decode(std::span<const std::byte> payload);
};

/// A request that is one plain value.
template <class T>
std::optional<T> decode_plain(std::span<const std::byte> payload) {
  Reader reader{payload};
  const T value = reader.get<T>();
  if (!reader.ok() || !reader.at_end()) return {};
  return value;
}
template <class T>
std::vector<std::byte> encode_plain(const T& value) {
  Writer writer;
  writer.put(value);
  return writer.data();
}

/// Never wraps around.
constexpr bool is_inside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return offset <= size && bytes <= size - offset;
}

}  // namespace weir

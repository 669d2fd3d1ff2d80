#include "remote/server_link.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace weir {

Result<RegionAnswer> ServerLink::ask_region(std::uint16_t type, std::span<const std::byte> payload) {
  auto frame = connection->ask(type, payload);
  if (!frame) return frame.status();
  auto answer = frame->type == MemoryMessage::region ? RegionAnswer::decode(frame->payload) : std::nullopt;
  if (!answer) return problem(Code::corrupt, "cannot understand the answer of a memory server");
  return *std::move(answer);
}

void ServerLink::release(std::uint64_t region) noexcept {
  // Where it cannot be told, the connection is lost, and the region with it.
  (void)attempt("release remote memory", [&] {
    return connection->tell(MemoryMessage::release, encode_plain(ReleaseRequest{region}));
  });
}

Status outside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return problem(Code::invalid, [&] {
    return fmt::format("cannot access {} bytes at {} of remote memory: it has {}", bytes, offset, size);
  });
}

}  // namespace weir

#include "remote/server_link.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "net/deadline.hpp"

namespace weir {

Result<RegionAnswer> ServerLink::ask_region(std::uint16_t type, std::span<const std::byte> payload) {
  auto frame = connection->ask(type, payload);
  if (!frame) return frame.status();
  auto answer = frame->type == MemoryMessage::region ? RegionAnswer::decode(frame->payload) : std::nullopt;
  if (!answer) return problem(Code::corrupt, "cannot understand the answer of a memory server");
  return *std::move(answer);
}

void ServerLink::release(std::uint64_t region) noexcept {
  // Waited for, so that the memory is there for whoever this client tells. Where it cannot be told, the connection is
  // lost, and the region with it.
  (void)attempt("release remote memory",
                [&] { return connection->ask(MemoryMessage::release, encode_plain(ReleaseRequest{region})).status(); });
}

Status ServerLink::failure() noexcept {
  Status status = attempt("look after a memory server", [&] { return connection->look(); });
  if (status && data) status = data->failure();
  if (!status && data) data->give_up();
  return status;
}

Status ServerLink::settle() noexcept {
  if (!data) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return failure();
  }
  if (Status status = data->flush(); !status) return failure();
  constexpr int looks = 1024;  // how often between two looks at the connection
  constexpr int patient = 20, most_ms = 1;
  int idle = 0;
  Deadline deadline = Deadline::in(timeout_s);
  for (int i = 1; data->pending() > 0; ++i) {
    if (data->progress()) {
      deadline = Deadline::in(timeout_s);
      idle = 0;
    } else if (++idle < patient) {
      std::this_thread::yield();  // to the server, where it shares the processors
    } else if (pollfd news = data->news(); news.fd >= 0) {
      ::poll(&news, 1, most_ms);  // a scheduler may prefer those who only yield to the server
    }
    if (i % looks != 0) continue;
    if (Status status = failure(); !status) return status;
    if (!deadline.is_over()) continue;
    data->give_up();
    return problem(Code::io, [&] {
      return fmt::format("lost the server at {}: nothing moved for {}", connection->server(),
                         format_seconds(timeout_s));
    });
  }
  return failure();
}

Status outside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return problem(Code::invalid, [&] {
    return fmt::format("cannot access {} bytes at {} of remote memory: it has {}", bytes, offset, size);
  });
}

}  // namespace weir

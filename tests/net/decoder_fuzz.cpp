#include "net/decoder_fuzz.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "net/contact_file.hpp"
#include "net/frame.hpp"
#include "net/handshake.hpp"
#include "net/socket.hpp"
#include "remote/protocol.hpp"
#include "remote/served_socket.hpp"

namespace weir::testing {
namespace {

void read_payload(const Frame& frame) {
  static const Credentials own{"job", {}, 3, Secret(32, std::byte{7}), "client"};
  ServerHandshake server{own};
  (void)server.take({FrameType::hello, 1, frame.payload, false});
  (void)server.take({FrameType::proof, 2, frame.payload, false});
  for (const std::uint16_t type : {FrameType::challenge, FrameType::welcome, FrameType::refused}) {
    ClientHandshake client{own};
    (void)client.begin().ok();
    (void)client.take({type, 1, frame.payload, false}).ok();
  }
  (void)refusal_of(frame);
  (void)decode_plain<AllocateRequest>(frame.payload);
  (void)decode_plain<AttachRequest>(frame.payload);
  (void)decode_plain<ReleaseRequest>(frame.payload);
  (void)RegionAnswer::decode(frame.payload);
  (void)MemoryReport::decode(frame.payload);
}

/// As requests over a socket for data of a client that has two regions. Headings get the sums that belong to them.
void serve_as_requests(std::span<const std::byte> data) {
  std::vector<std::byte> sent{data.begin(), data.end()}, memory(8192);
  for (std::size_t at = 0; at + sizeof(TransferHeading) <= sent.size();) {
    TransferHeading heading;
    std::memcpy(&heading, sent.data() + at, sizeof heading);
    const std::size_t here = at, left = sent.size() - at - sizeof heading;
    const std::size_t bytes = heading.verb == TransferVerb::put ? std::min<std::uint64_t>(heading.bytes, left) : 0;
    at += sizeof heading + bytes;
    heading.data_sum = DataSum::of(std::span{sent}.subspan(at - bytes, bytes));
    heading.seal();
    std::memcpy(sent.data() + here, &heading, sizeof heading);
  }
  static const Descriptor watcher{::epoll_create1(EPOLL_CLOEXEC)};
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return;
  const Descriptor client{ends[1]};
  ServedSocket served{watcher.get(), 1};
  served.lend(1, std::span{memory}.first(4096));
  served.lend(2, std::span{memory}.subspan(4096));
  if (!served.open(Descriptor{ends[0]})) return;
  std::array<std::byte, 4096> answers;
  for (std::span<const std::byte> left = sent; !left.empty();) {
    const ssize_t taken = send_some(client.get(), left.first(std::min<std::size_t>(left.size(), 1000)));
    served.serve();
    while (receive_some(client.get(), answers) > 0) served.serve();
    if (taken < 0) break;
    left = left.subspan(static_cast<std::size_t>(taken));
  }
  served.free(1);
}

}  // namespace

void read_as_everything(std::span<const std::byte> data) {
  FrameDecoder decoder{1U << 16};
  for (std::span<const std::byte> left = data; !left.empty();) {
    auto frame = decoder.take(left);
    if (!frame) break;
    if (*frame) read_payload(**frame);
  }
  read_payload({FrameType::hello, 1, {data.begin(), data.end()}, false});
  serve_as_requests(data);
  const std::string_view text{reinterpret_cast<const char*>(data.data()), data.size()};
  (void)Contact::parse(text, "fuzz").ok();
  (void)Endpoint::parse(text).ok();
}

}  // namespace weir::testing

#ifdef WEIR_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  weir::testing::read_as_everything(std::as_bytes(std::span{data, size}));
  return 0;
}
#endif

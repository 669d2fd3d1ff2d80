#include "net/decoder_fuzz.hpp"

#include "net/contact_file.hpp"
#include "net/frame.hpp"
#include "net/handshake.hpp"
#include "remote/protocol.hpp"

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

}  // namespace

void read_as_everything(std::span<const std::byte> data) {
  FrameDecoder decoder{1U << 16};
  for (std::span<const std::byte> left = data; !left.empty();) {
    auto frame = decoder.take(left);
    if (!frame) break;
    if (*frame) read_payload(**frame);
  }
  read_payload({FrameType::hello, 1, {data.begin(), data.end()}, false});
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

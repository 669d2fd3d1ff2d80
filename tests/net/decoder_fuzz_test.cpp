#include "net/decoder_fuzz.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "net/handshake.hpp"
#include "remote/protocol.hpp"
#include "remote/transfer_heading.hpp"

using namespace weir;
using weir::testing::read_as_everything;

namespace {

using Bytes = std::vector<std::byte>;

const std::filesystem::path corpus_directory{WEIR_TEST_DATA "/frames"};

/// A put of some bytes, a settle, and a get, as over a socket for data.
Bytes requests() {
  Bytes all;
  const auto add = [&](TransferVerb verb, std::uint64_t region, std::uint64_t offset, std::uint64_t bytes) {
    TransferHeading heading;
    heading.verb = verb;
    heading.region = region;
    heading.offset = offset;
    heading.bytes = bytes;
    heading.seal();
    const auto part = std::as_bytes(std::span{&heading, 1});
    all.insert(all.end(), part.begin(), part.end());
  };
  add(TransferVerb::put, 1, 7, 50);
  all.resize(all.size() + 50, std::byte{9});
  add(TransferVerb::settle, 0, 0, 1);
  add(TransferVerb::get, 2, 0, 4096);
  return all;
}

std::vector<std::pair<std::string, Bytes>> messages() {
  const Credentials own{"job-1", {std::byte{1}}, 3, Secret(32, std::byte{7}), "client"};
  ClientHandshake client{own};
  ServerHandshake server{own};
  const auto hello = client.begin().value();
  const auto challenge = server.take({hello.type, 1, hello.payload, false});
  const auto proof = client.take({challenge.type, 1, challenge.payload, false}).value();
  const auto welcome = server.take({proof.type, 2, proof.payload, false});
  const auto no = refusal(Code::no_memory, "cannot allocate");
  const RegionName name{{1, 2}, 3, 4};
  const RegionAnswer region{1, 4096, 0x7000, {'k', 'e', 'y'}, {'w', 'o', 'r', 'k', 'e', 'r'}};
  MemoryReport report;
  report.job = "job-1";
  report.clients.resize(2);
  const Contact contact{{false, "node7", 4711}, "job-1", {std::byte{1}}, 42, "node7"};
  const std::string text = contact.text();
  const auto* characters = reinterpret_cast<const std::byte*>(text.data());
  return {{"hello", encode_frame(hello.type, 1, hello.payload)},
          {"challenge", encode_frame(challenge.type, 1, challenge.payload)},
          {"proof", encode_frame(proof.type, 2, proof.payload)},
          {"welcome", encode_frame(welcome.type, 2, welcome.payload)},
          {"refused", encode_frame(no.type, 3, no.payload)},
          {"allocate", encode_frame(MemoryMessage::allocate, 3, encode_plain(AllocateRequest{name, 4096, 1}))},
          {"attach", encode_frame(MemoryMessage::attach, 4, encode_plain(AttachRequest{name, 2}))},
          {"region", encode_frame(MemoryMessage::region, 4, region.encode())},
          {"report", encode_frame(MemoryMessage::report, 5, report.encode())},
          {"requests", requests()},
          {"contact", Bytes{characters, characters + text.size()}}};
}

std::vector<Bytes> corpus() {
  std::vector<Bytes> all;
  for (const auto& entry : std::filesystem::directory_iterator{corpus_directory}) {
    std::ifstream file{entry.path(), std::ios::binary};
    const std::vector<char> text{std::istreambuf_iterator<char>{file}, {}};
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    all.emplace_back(bytes, bytes + text.size());
  }
  return all;
}

/// Some bits, bytes, numbers or lengths of it changed; half the time also what a frame's checksums then must be.
Bytes changed(Bytes data, std::mt19937& random) {
  const auto any = [&](std::size_t below) {
    return static_cast<std::size_t>(random()) % std::max<std::size_t>(1, below);
  };
  for (std::size_t changes = 1 + any(4); changes > 0 && !data.empty(); --changes) {
    const std::size_t at = any(data.size());
    switch (any(6)) {
      case 0: data[at] ^= static_cast<std::byte>(1U << any(8)); break;
      case 1: data[at] = static_cast<std::byte>(any(256)); break;
      case 2: data.resize(at); break;
      case 3:
        data.insert(data.begin() + static_cast<std::ptrdiff_t>(at), any(40), static_cast<std::byte>(any(256)));
        break;
      case 4: data.erase(data.begin() + static_cast<std::ptrdiff_t>(at)); break;
      default:
        for (std::size_t i = at; i < std::min(at + 8, data.size()); ++i)
          data[i] = any(2) ? std::byte{0xff} : std::byte{0};
    }
  }
  if (data.size() < sizeof(FrameHeader) || any(2)) return data;
  return encode_frame(static_cast<std::uint16_t>(any(40)), 1, std::span{data}.subspan(sizeof(FrameHeader)));
}

}  // namespace

TEST(Decoder, corpus_holds_every_message) {
  if (std::getenv("WEIR_WRITE_CORPUS")) {
    std::filesystem::create_directories(corpus_directory);
    for (const auto& [name, bytes] : messages())
      std::ofstream{corpus_directory / name, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                                                     static_cast<std::streamsize>(bytes.size()));
  }
  for (const auto& [name, bytes] : messages()) EXPECT_TRUE(std::filesystem::exists(corpus_directory / name)) << name;
}

TEST(Decoder, survives_the_corpus_and_changes_of_it) {
  const std::vector<Bytes> all = corpus();
  ASSERT_GE(all.size(), messages().size());
  for (const Bytes& one : all) {
    read_as_everything(one);
    for (std::size_t length = 0; length < one.size(); ++length) read_as_everything(std::span{one}.first(length));
  }
  const char* rounds = std::getenv("FUZZ_ROUNDS");
  for (unsigned seed = 0; seed < (rounds ? std::strtoul(rounds, nullptr, 10) : 3000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    read_as_everything(changed(all[random() % all.size()], random));
  }
}

#include "net/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string_view>

using namespace weir;

namespace {

std::vector<std::byte> as_bytes(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

TEST(Frame, comes_out_as_it_went_in_however_it_is_cut) {
  auto stream = encode_frame(20, 7, as_bytes("some words"));
  const auto second = encode_frame(21, 8, {});
  stream.insert(stream.end(), second.begin(), second.end());
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    FrameDecoder decoder{100};
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      std::span<const std::byte> data = std::span{stream}.subspan(at, std::min(step, stream.size() - at));
      while (!data.empty()) {
        auto frame = decoder.take(data);
        ASSERT_TRUE(frame.ok());
        if (*frame) frames.push_back(**std::move(frame));
      }
    }
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].type, 20);
    EXPECT_EQ(frames[0].sequence, 7U);
    EXPECT_EQ(frames[0].payload, as_bytes("some words"));
    EXPECT_EQ(frames[1].sequence, 8U);
    EXPECT_FALSE(decoder.is_midway());
  }
}

TEST(Frame, damage_is_noticed_in_every_bit) {
  const auto good = encode_frame(20, 7, as_bytes("payload"));
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    FrameDecoder decoder{100};
    std::span<const std::byte> data{bad};
    auto frame = decoder.take(data);
    EXPECT_TRUE(!frame.ok() || ((*frame) && (*frame)->damaged)) << "bit " << bit;
  }
}

TEST(Frame, lengths_beyond_the_limit_are_refused_before_memory_is_taken) {
  for (const std::uint64_t length : {std::uint64_t{101}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    // A header that is right in everything but its length.
    auto frame = encode_frame(20, 1, std::vector<std::byte>(101));
    FrameDecoder decoder{100};
    std::span<const std::byte> data{frame};
    if (length != 101) {
      std::memcpy(frame.data() + offsetof(FrameHeader, length), &length, sizeof length);
      EXPECT_EQ(decoder.take(data).status().code(), Code::corrupt);
    } else {
      EXPECT_EQ(decoder.take(data).status().code(), Code::too_large);
    }
  }
}

TEST(Frame, other_protocols_are_told_from_their_first_bytes) {
  FrameDecoder decoder{100};
  const auto http = as_bytes("GET / HTTP/1.1\r\n");
  std::span<const std::byte> data{http};
  EXPECT_EQ(decoder.take(data).status().code(), Code::corrupt);
}

TEST(Frame, another_version_is_named_beside_ours) {
  FrameDecoder decoder{100};
  const auto frame = encode_frame(FrameType::hello, 1, {}, 9);
  std::span<const std::byte> data{frame};
  const Status status = decoder.take(data).status();
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("version 9"), std::string::npos);
  EXPECT_NE(status.message().find("version 1"), std::string::npos);
}

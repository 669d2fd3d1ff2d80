#include "core/units.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir {
namespace {

constexpr std::uint64_t kib = 1024, mib = kib * kib, gib = kib * mib;

TEST(Units, bytes_have_three_digits_and_a_binary_unit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(64 * mib), "64 MiB");
  EXPECT_EQ(format_bytes(gib + gib / 2), "1.5 GiB");
  EXPECT_EQ(format_bytes(1234567), "1.18 MiB");
  EXPECT_EQ(format_bytes(~std::uint64_t{0}), "16 EiB");
}

TEST(Units, bytes_that_round_up_take_the_next_unit) {
  EXPECT_EQ(format_bytes(mib - 1), "1 MiB");
  EXPECT_EQ(format_bytes(1023 * kib), "1023 KiB");
  EXPECT_EQ(format_bytes(10 * kib - 1), "10 KiB");
}

TEST(Units, seconds_have_three_digits_and_a_unit) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(1.234e-3), "1.23 ms");
  EXPECT_EQ(format_seconds(450e-6), "450 us");
  EXPECT_EQ(format_seconds(2.5), "2.5 s");
  EXPECT_EQ(format_seconds(12e-9), "12 ns");
  EXPECT_EQ(format_seconds(0.99999), "1 s");
  EXPECT_EQ(format_seconds(9.999e-3), "10 ms");
  EXPECT_EQ(format_seconds(4321), "4321 s");
  EXPECT_EQ(format_seconds(-1.5e-3), "-1.5 ms");
}

TEST(Units, bytes_are_read_with_and_without_units) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("12B"), 12);
  EXPECT_EQ(parse_bytes("16k"), 16 * kib);
  EXPECT_EQ(parse_bytes("64MiB"), 64 * mib);
  EXPECT_EQ(parse_bytes("64 MiB"), 64 * mib);
  EXPECT_EQ(parse_bytes("64mib"), 64 * mib);
  EXPECT_EQ(parse_bytes("10MB"), 10'000'000);
  EXPECT_EQ(parse_bytes("2T"), 2048 * gib);
  EXPECT_EQ(parse_bytes("1.5GiB"), gib + gib / 2);
  EXPECT_EQ(parse_bytes("0.1MB"), 100'000);
  EXPECT_EQ(parse_bytes("18446744073709551615"), ~std::uint64_t{0});
}

TEST(Units, malformed_bytes_are_refused) {
  for (const char* text : {"", " ", "k", "MiB", "-1", "+1", "1..5k", "1.k", ".5k", "0.5", "0.5B", "1e6", "4096 bytes",
                           "64MiBs", "64 Mi B", "0x10", "18446744073709551616", "16777216T", "1k "}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(Units, whole_bytes_survive_a_round_trip) {
  std::mt19937_64 random{7};
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t bytes = (random() % 1000) << (10 * (random() % 5));
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
}

}  // namespace
}  // namespace weir

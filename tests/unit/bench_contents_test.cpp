#include <gtest/gtest.h>

#include <vector>

#include "contents.hpp"

namespace weir::bench {
namespace {

TEST(Contents, of_a_part_are_those_of_the_whole) {
  std::vector<std::byte> whole(64);
  fill(whole, 100, 7);
  for (std::uint64_t from = 0; from < whole.size(); ++from) {
    for (std::uint64_t length = 0; from + length <= whole.size(); ++length) {
      std::vector<std::byte> part(length);
      fill(part, 100 + from, 7);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(from)));
    }
  }
}

TEST(Contents, of_another_seed_or_place_do_not_pass) {
  std::vector<std::byte> data(8);
  fill(data, 16, 1);
  EXPECT_FALSE(first_difference(data, 16, 1));
  EXPECT_TRUE(first_difference(data, 16, 2));
  EXPECT_TRUE(first_difference(data, 24, 1));
  EXPECT_TRUE(first_difference(data, 17, 1));
}

TEST(Contents, every_single_wrong_byte_is_found) {
  std::vector<std::byte> data(37);
  fill(data, 5, 1);
  for (std::uint64_t i = 0; i < data.size(); ++i) {
    data[i] ^= std::byte{0x80};
    EXPECT_EQ(first_difference(data, 5, 1), i);
    data[i] ^= std::byte{0x80};
  }
}

}  // namespace
}  // namespace weir::bench

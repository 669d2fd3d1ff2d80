#include "core/strided.hpp"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "core/pieces.hpp"

namespace weir {
namespace {

auto fields(const Strided& run) {
  return std::tuple{run.offset, run.length, run.stride, run.count, run.memory, run.before};
}

TEST(StridedList, holds_the_same_as_a_vector) {
  std::mt19937_64 random{31};
  for (int i = 0; i < 500; ++i) {
    std::vector<Strided> expected;
    StridedList list;
    std::uint64_t offset = 0, before = 0;
    for (std::uint64_t n = random() % 30; n > 0; --n) {
      const std::uint64_t length = random() % 8 == 0 ? (std::uint64_t{1} << 32) - 1 + random() % 3 : 4 + random() % 2;
      const std::uint64_t count = 1 + random() % 3;
      Strided run{offset, length, count == 1 ? 0 : 2 * length, count, random() % 1000, before};
      list.push_back(run);
      if (random() % 4 == 0) {
        run.length += random() % 2 ? 1 : std::uint64_t{1} << 32;
        run.stride = 3 * run.length;
        run.count += 1 + random() % 3;
        list.replace_back(run);
      }
      expected.push_back(run);
      offset = run.end() + random() % 100;
      before += run.bytes();
    }
    list.shrink();
    Writer out;
    list.write(out);
    Reader in{out.data()};
    StridedList again;
    again.read(in);
    ASSERT_EQ(again, list);
    ASSERT_EQ(again.hash(1), list.hash(1));
    ASSERT_EQ(list.size(), expected.size()) << "case " << i;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      ASSERT_EQ(fields(again[k]), fields(expected[k])) << "case " << i << " run " << k;
      ASSERT_EQ(list.first_behind(expected[k].offset, 0, list.size()), k + 1);
      ASSERT_EQ(list.last_before(expected[k].before), k);
    }
  }
}

TEST(StridedList, keeps_a_piece_in_32_bytes_and_equal_strides_once) {
  StridedList singles, equal;
  for (std::uint64_t i = 0; i < 1024; ++i) {
    singles.push_back({i * 100, 1 + i % 50, 0, 1, i, i});
    equal.push_back({i * 1000, 8, 16, 10, i, i});
  }
  singles.shrink();
  equal.shrink();
  EXPECT_EQ(singles.list_bytes(), 1024 * 32);
  EXPECT_LE(equal.list_bytes(), 1024 * 32 + 2 * 24);
}

TEST(PieceList, of_very_long_pieces_keeps_their_lengths) {
  constexpr std::uint64_t long_piece = std::uint64_t{5} << 30;
  const std::vector<weir::Run> runs{{0, long_piece}, {long_piece, 100}, {2 * long_piece, long_piece, 2 * long_piece, 3}};
  const PieceList list = PieceList::of(runs);
  EXPECT_EQ(list.bytes(), 4 * long_piece + 100);
  EXPECT_EQ(list.pieces(), 4);
  EXPECT_EQ(list.end(), 7 * long_piece);
  EXPECT_EQ(list.offset_at(long_piece + 100), 2 * long_piece);
  EXPECT_EQ(list.next(long_piece + 100), 2 * long_piece);
}

}  // namespace
}  // namespace weir

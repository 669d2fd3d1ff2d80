#include "core/pieces.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/covered.hpp"

namespace weir {
namespace {

std::vector<Run> random_runs(std::mt19937_64& random, bool overlapping) {
  auto between = [&](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>{least, most}(random);
  };
  std::vector<Run> runs;
  std::uint64_t at = 0;
  for (std::uint64_t i = between(0, 8); i > 0; --i) {
    const std::uint64_t length = between(0, 20), count = between(0, 5), stride = length + between(0, 10);
    runs.push_back({overlapping ? between(0, 150) : at, length, stride, count});
    at += count * stride + between(0, 30);
  }
  if (!overlapping) std::shuffle(runs.begin(), runs.end(), random);
  return runs;
}

/// For every byte of the file its place in memory, or -1: written run by run, later ones over earlier ones.
std::vector<std::int64_t> plainly(const std::vector<Run>& runs) {
  std::vector<std::int64_t> file(1000, -1);
  std::int64_t memory = 0;
  for (const Run& run : runs)
    for (std::uint64_t k = 0; k < run.count; ++k)
      for (std::uint64_t b = 0; b < run.length; ++b) file[run.offset + k * run.stride + b] = memory++;
  return file;
}

std::vector<std::int64_t> as_list(const PieceList& list) {
  std::vector<std::int64_t> file(1000, -1);
  list.for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
    for (std::uint64_t b = 0; b < length; ++b) file[offset + b] = static_cast<std::int64_t>(memory + b);
  });
  return file;
}

TEST(PieceList, holds_what_was_given_and_later_pieces_win) {
  std::mt19937_64 random{1};
  for (int i = 0; i < 2000; ++i) {
    const auto runs = random_runs(random, i % 2 == 0);
    ASSERT_EQ(as_list(PieceList::of(runs)), plainly(runs)) << "case " << i;
  }
}

TEST(PieceList, counts_bytes_before_an_offset_and_finds_them_again) {
  std::mt19937_64 random{2};
  for (int i = 0; i < 300; ++i) {
    const PieceList list = PieceList::of(random_runs(random, true));
    const auto file = as_list(list);
    std::uint64_t before = 0;
    for (std::uint64_t offset = 0; offset < file.size(); ++offset) {
      ASSERT_EQ(list.bytes_before(offset), before) << "case " << i << " offset " << offset;
      if (file[offset] < 0) continue;
      ASSERT_EQ(list.offset_at(before), offset) << "case " << i;
      ++before;
    }
    ASSERT_EQ(list.bytes(), before);
  }
}

TEST(PieceList, scatters_and_gathers_any_part) {
  std::mt19937_64 random{3};
  for (int i = 0; i < 500; ++i) {
    const auto runs = random_runs(random, true);
    const PieceList list = PieceList::of(runs);
    const auto file = as_list(list);
    std::vector<std::byte> memory(2000);
    for (auto& b : memory) b = static_cast<std::byte>(random());
    const std::uint64_t low = random() % 300, high = low + random() % 400;
    std::vector<std::byte> target(1000, std::byte{0xee}), back(2000, std::byte{0xdd});
    list.scatter(low, high, memory.data(), target.data() + low);
    list.gather(low, high, target.data() + low, back.data());
    for (std::uint64_t at = 0; at < file.size(); ++at) {
      const bool moved = file[at] >= 0 && at >= low && at < high;
      ASSERT_EQ(target[at], moved ? memory[file[at]] : std::byte{0xee}) << "case " << i << " at " << at;
      if (file[at] >= 0) {
        ASSERT_EQ(back[file[at]], moved ? memory[file[at]] : std::byte{0xdd}) << "case " << i;
      }
    }
  }
}

TEST(PieceList, keeps_a_regular_pattern_as_one_run) {
  const weir::Run run{100, 8, 64, 1'000'000};
  EXPECT_EQ(PieceList::of({&run, 1}).runs().size(), 1);
}

TEST(PieceList, unites_lists_into_a_packed_one) {
  const weir::Run a{0, 4, 8, 10}, b{4, 4, 8, 10}, c{100, 10, 0, 1};
  const PieceList lists[] = {PieceList::of({&a, 1}), PieceList::of({&b, 1}), PieceList::of({&c, 1})};
  const PieceList* pointers[] = {&lists[0], &lists[1], &lists[2]};
  const PieceList together = PieceList::union_of(pointers);
  EXPECT_EQ(together.pieces(), 2);
  EXPECT_EQ(together.bytes(), 90);
  EXPECT_EQ(together.offset_at(80), 100);
}

TEST(PieceList, finds_the_next_byte_and_counts_along) {
  std::mt19937_64 random{4};
  for (int i = 0; i < 300; ++i) {
    const PieceList list = PieceList::of(random_runs(random, true));
    const auto file = as_list(list);
    PieceList::Counter counter{list};
    for (std::uint64_t offset = 0; offset < file.size(); offset += 1 + random() % 5) {
      std::uint64_t next = offset;
      while (next < file.size() && file[next] < 0) ++next;
      ASSERT_EQ(list.next(offset), next == file.size() ? PieceList::none : next) << "case " << i << " at " << offset;
      ASSERT_EQ(counter.bytes_before(offset), list.bytes_before(offset)) << "case " << i << " at " << offset;
    }
  }
}

TEST(PieceList, tells_where_bytes_of_one_piece_lie) {
  std::mt19937_64 random{5};
  for (int i = 0; i < 300; ++i) {
    const PieceList list = PieceList::of(random_runs(random, true));
    const auto file = as_list(list);
    for (std::uint64_t offset = 0; offset < file.size(); ++offset) {
      if (file[offset] < 0) continue;
      std::uint64_t most = 0;
      list.for_each([&](std::uint64_t from, std::uint64_t length, std::uint64_t) {
        if (offset >= from && offset < from + length) most = from + length - offset;
      });
      ASSERT_EQ(list.memory_of(offset, most), file[offset]) << "case " << i << " at " << offset;
      ASSERT_EQ(list.memory_of(offset, most + 1), PieceList::none) << "case " << i << " at " << offset;
    }
  }
}

TEST(PieceList, covers_a_part_of_the_file_together_with_others) {
  std::mt19937_64 random{5};
  for (int i = 0; i < 1000; ++i) {
    std::vector<PieceList> lists(random() % 6);
    std::vector<const PieceList*> pointers;
    const std::uint64_t low = random() % 200, high = low + random() % 400;
    std::vector<char> expected(1000), found(1000);
    for (PieceList& list : lists) {
      list = PieceList::of(random_runs(random, true));
      pointers.push_back(&list);
      const auto file = as_list(list);
      for (std::uint64_t at = low; at < high; ++at) expected[at] |= static_cast<char>(file[at] >= 0);
    }
    std::uint64_t end = 0;
    for (const Extent& extent : covered(pointers, {low, high - low})) {
      ASSERT_TRUE(end == 0 || extent.offset > end) << "case " << i << ": neighbours are one";
      for (std::uint64_t at = extent.offset; at < extent.end(); ++at) found[at] = 1;
      end = extent.end();
    }
    ASSERT_EQ(found, expected) << "case " << i;
  }
}

}  // namespace
}  // namespace weir

#include "subfile/set_index.hpp"

#include <gtest/gtest.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <limits>
#include <random>

#include "subfile/set_declaration.hpp"
#include "cases.hpp"

namespace weir {
namespace {

PieceList pieces(std::vector<weir::Run> runs) { return PieceList::of(runs); }

/// Two sub-files, two patterns, three sections.
SetIndex example_index() {
  SetIndex index;
  index.id = 0x0123456789abcdef;
  index.stem = "out.dat";
  index.file_bytes = {1000, 3000};
  SetIndex::Pattern& first = index.patterns.emplace_back();
  first.variables = {{0, 0}, {0, 5000}, {1, 100}};
  first.ranks.push_back({0, 0, {pieces({{0, 8, 32, 10}}), pieces({{7, 20}, {3, 2}})}, {80, 22}});
  first.ranks.push_back({1, 0, {pieces({{8, 8, 32, 10}}), pieces({})}, {80, 0}});
  SetIndex::Pattern& second = index.patterns.emplace_back();
  second.variables = {{0, 1 << 20}};
  second.ranks.push_back({1, 10, {pieces({{0, 500}, {2000, 500}})}, {1000}});
  index.sections = {{0, 0, {0, 0}}, {1, 77, {0, 1024}}, {0, 1 << 30, {512, 2048}}};
  index.written_ns = 1'700'000'000'000'000'000;
  index.hosts = {"n0", "n1"};
  for (SetIndex::Section& section : index.sections)
    for (const SetIndex::Rank& rank : index.patterns[section.pattern].ranks)
      section.sums.emplace_back(index.patterns[section.pattern].checksums_of(rank), section.shift + 5);
  return index;
}

TEST(SetIndex, survives_being_written_and_read) {
  const SetIndex index = example_index();
  const auto bytes = index.encoded();
  EXPECT_TRUE(SetIndex::recognises(bytes));
  auto read = SetIndex::decoded(bytes, "out.dat");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->encoded(), bytes);
  EXPECT_EQ(read->id, index.id);
  EXPECT_EQ(read->stem, index.stem);
  EXPECT_EQ(read->file_bytes, index.file_bytes);
  EXPECT_EQ(read->patterns[0].ranks[0].shapes[1], index.patterns[0].ranks[0].shapes[1]);
  EXPECT_EQ(read->sections[2].file_at, index.sections[2].file_at);
  EXPECT_EQ(read->layout_hash(), index.layout_hash());
  EXPECT_EQ(read->written_ns, index.written_ns);
  EXPECT_EQ(read->hosts, index.hosts);
  EXPECT_EQ(read->sections[1].sums, index.sections[1].sums);
}

TEST(SetIndex, has_the_same_layout_for_other_data) {
  SetIndex index = example_index();
  index.id = 7;
  index.written_ns += 1;
  index.sections[0].sums[0][0] += 1;
  EXPECT_EQ(index.layout_hash(), example_index().layout_hash());
}

TEST(SetIndex, says_what_lies_in_a_sub_file_in_any_order) {
  SetIndex index = example_index();
  const auto offsets = [](const std::vector<StoredVariable>& stored) {
    std::vector<std::uint64_t> all;
    for (const StoredVariable& variable : stored) all.push_back(variable.offset);
    return all;
  };
  const auto first = offsets(index.stored_in(0)), second = offsets(index.stored_in(1));
  EXPECT_EQ(first, (std::vector<std::uint64_t>{0, 80, 160, 512, 592, 672}));
  EXPECT_EQ(second, (std::vector<std::uint64_t>{0, 80, 1034, 2048, 2128}));
  index.reorder({1, 0});
  EXPECT_EQ(offsets(index.stored_in(1)), first);
  EXPECT_EQ(offsets(index.stored_in(0)), second);
  EXPECT_EQ(index.hosts, (std::vector<std::string>{"n1", "n0"}));
  EXPECT_TRUE(SetIndex::decoded(index.encoded(), "out.dat").ok());
}

TEST(SetIndex, keeps_runs_as_runs) {
  SetIndex index = example_index();
  const std::size_t before = index.encoded().size();
  index.patterns[0].ranks[0].shapes[0] = pieces({{0, 1, 2, 40}});
  EXPECT_LE(index.encoded().size(), before + 4);
  EXPECT_EQ(SetIndex::decoded(index.encoded(), "x").value().patterns[0].ranks[0].shapes[0].runs().size(), 1u);
}

TEST(SetIndex, damage_of_any_byte_is_an_error) {
  const auto whole = example_index().encoded();
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const unsigned flip : {1u, 0x80u, 0xffu}) {
      auto bytes = whole;
      bytes[i] ^= static_cast<std::byte>(flip);
      const auto read = SetIndex::decoded(bytes, "out.dat");
      ASSERT_EQ(read.status().code(), Code::corrupt) << "byte " << i;
      ASSERT_NE(read.status().message().find("out.dat"), std::string::npos);
    }
}

TEST(SetIndex, truncation_at_any_length_is_an_error) {
  const auto whole = example_index().encoded();
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_EQ(SetIndex::decoded(std::span{whole}.first(length), "out.dat").status().code(), Code::corrupt) << length;
}

/// What a checksum does not find: an index that is whole and does not make sense.
TEST(SetIndex, nonsense_with_a_right_checksum_is_an_error) {
  const auto refused = [](auto&& spoil) {
    SetIndex index = example_index();
    spoil(index);
    return SetIndex::decoded(index.encoded(), "out.dat").status().code() == Code::corrupt;
  };
  EXPECT_FALSE(refused([](SetIndex&) {}));
  EXPECT_TRUE(refused([](SetIndex& i) { i.stem = "../../etc/passwd"; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.stem.clear(); }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.hosts.pop_back(); }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.sections[0].sums[0].pop_back(); }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.file_bytes.clear(), i.sections.clear(), i.patterns.clear(); }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.file_bytes[1] = 2100; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.patterns[0].ranks[0].file = 2; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.patterns[0].ranks[0].shape_bytes[0] = 79; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.patterns[0].ranks[1].at = std::numeric_limits<std::uint64_t>::max() - 10; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.patterns[0].variables[1].shape = 2; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.patterns[0].variables[1].at = std::uint64_t{1} << 63; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.sections[0].pattern = 2; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.sections[0].shift = std::uint64_t{1} << 63; }));
  EXPECT_TRUE(refused([](SetIndex& i) { i.sections[1].file_at[1] = 2500; }));
}

TEST(SetIndex, random_bytes_behind_a_right_beginning_never_crash) {
  std::mt19937_64 random{3};
  const auto whole = example_index().encoded();
  const RankDeclaration wanted = RankDeclaration::of(Declaration{{0, 6000, 0, 1}, {1, 3, 5, 1000}}).value();
  for (std::uint64_t i = 0; i < testing::cases(20000); ++i) {
    // Changed anywhere, with the checksum made right again: only the checks of the contents are left.
    std::vector<std::byte> body(whole.begin(), whole.end() - 8);
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n)
      body[8 + random() % (body.size() - 8)] = static_cast<std::byte>(random());
    const std::uint64_t hash = XXH3_64bits(body.data(), body.size());
    const auto* tail = reinterpret_cast<const std::byte*>(&hash);
    body.insert(body.end(), tail, tail + sizeof hash);
    auto read = SetIndex::decoded(body, "out.dat");
    if (read) (void)SetLookup{*read}.find(wanted, "out.dat");
  }
}

}  // namespace
}  // namespace weir

#include "subfile/set_declaration.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "cases.hpp"

namespace weir {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t end) { return random() % end; }

Declaration declaration(Random& random, int shapes, const std::vector<std::pair<int, std::uint64_t>>& variables) {
  Declaration made;
  for (int s = 0; s < shapes; ++s) {
    std::vector<weir::Run> runs;
    for (std::uint64_t n = below(random, 4); n > 0; --n)
      runs.push_back({below(random, 300), below(random, 9), below(random, 20), below(random, 5)});
    made.decomposition(runs);
  }
  for (const auto& [shape, at] : variables) made.variable(shape, at);
  return made;
}

/// The slow and obvious reading of a set: every byte of the file and its place, later writers over earlier ones.
using Places = std::map<std::uint64_t, std::uint64_t>;

struct Written {
  SetIndex index;
  Places places;
};

Written written(Random& random) {
  Written made;
  const std::uint32_t files = 1 + static_cast<std::uint32_t>(below(random, 3));
  made.index.stem = "x";
  made.index.file_bytes.assign(files, 0);
  made.index.hosts.resize(files);
  const FileGroups space = FileGroups::for_reading(files);
  std::vector<std::vector<Declaration>> declared;
  for (std::uint64_t p = below(random, 3); p > 0; --p) {
    SetIndex::Pattern& pattern = made.index.patterns.emplace_back();
    const int shapes = 1 + static_cast<int>(below(random, 2));
    std::vector<std::pair<int, std::uint64_t>> variables;
    for (std::uint64_t v = below(random, 4); v > 0; --v)
      variables.emplace_back(static_cast<int>(below(random, static_cast<std::uint64_t>(shapes))), below(random, 500));
    auto& ranks = declared.emplace_back();
    std::vector<std::uint64_t> ends(files, 0);
    for (std::uint64_t r = 1 + below(random, 4); r > 0; --r) {
      ranks.push_back(declaration(random, shapes, variables));
      const RankDeclaration own = RankDeclaration::of(ranks.back()).value();
      pattern.variables = own.variables;
      const auto file = static_cast<std::uint32_t>(below(random, files));
      SetIndex::Rank rank{file, ends[file], own.shapes, {}};
      for (const auto& memory : own.memory) rank.shape_bytes.push_back(memory.bytes);
      ends[file] += packed_bytes(own);
      pattern.ranks.push_back(std::move(rank));
    }
  }
  for (std::uint64_t n = made.index.patterns.empty() ? 0 : below(random, 4); n > 0; --n) {
    const auto p = static_cast<std::uint32_t>(below(random, made.index.patterns.size()));
    SetIndex::Section section{p, below(random, 2) * below(random, 700), made.index.file_bytes};
    for (std::size_t r = 0; r < declared[p].size(); ++r) {
      const SetIndex::Rank& rank = made.index.patterns[p].ranks[r];
      std::uint64_t place = space.base(rank.file) + section.file_at[rank.file] + rank.at;
      for (const auto& variable : declared[p][r].variable_list())
        for (const weir::Run& run : declared[p][r].shapes()[static_cast<std::size_t>(variable.shape)].runs)
          for (std::uint64_t k = 0; k < run.count; ++k)
            for (std::uint64_t b = 0; b < run.length; ++b)
              made.places[run.offset + k * run.stride + b + variable.at + section.shift] = place++;
      const std::uint64_t end = space.inside(place);
      made.index.file_bytes[rank.file] = std::max(made.index.file_bytes[rank.file], end);
    }
    for (const SetIndex::Rank& rank : made.index.patterns[p].ranks)
      section.sums.emplace_back(made.index.patterns[p].checksums_of(rank));
    made.index.sections.push_back(std::move(section));
  }
  return made;
}

TEST(SetLookup, finds_every_byte_where_the_reference_does) {
  std::uint64_t found_all = 0, missed = 0;
  for (std::uint64_t seed = 1; seed <= testing::cases(3000); ++seed) {
    Random random{seed};
    const Written set = written(random);
    ASSERT_TRUE(SetIndex::decoded(set.index.encoded(), "x").ok()) << "seed " << seed;
    const SetLookup lookup{set.index};
    // Mostly what was written, in pieces that overlap or repeat.
    Declaration wanted;
    for (int v = 0; v < 2; ++v) {
      std::vector<weir::Run> runs;
      for (std::uint64_t n = set.places.empty() ? 0 : below(random, 6); n > 0; --n) {
        auto first = set.places.begin();
        std::advance(first, static_cast<std::ptrdiff_t>(below(random, set.places.size())));
        std::uint64_t length = 1;
        while (set.places.contains(first->first + length) && below(random, 20) > 0) ++length;
        runs.push_back({first->first, length, 0, 1});
      }
      if (below(random, 9) == 0) runs.push_back({below(random, 2500), 1 + below(random, 3), 0, 1});
      wanted.variable(runs);
    }
    bool whole = true;
    for (const auto& shape : wanted.shapes())
      for (const weir::Run& run : shape.runs)
        for (std::uint64_t b = 0; b < run.length; ++b) whole = whole && set.places.contains(run.offset + b);
    const RankDeclaration own = RankDeclaration::of(wanted).value();
    auto found = lookup.find(own, "x");
    ASSERT_EQ(found.status().code(), whole ? Code::ok : Code::end_of_file) << "seed " << seed;
    ++(whole ? found_all : missed);
    if (!whole) continue;
    ASSERT_EQ(found->variables.size(), own.variables.size());
    for (std::size_t v = 0; v < own.variables.size(); ++v) {
      std::map<std::uint64_t, std::uint64_t> by_memory;
      found->pieces(v).for_each([&](std::uint64_t place, std::uint64_t length, std::uint64_t memory) {
        for (std::uint64_t b = 0; b < length; ++b) by_memory[memory + b] = place + b;
      });
      ASSERT_EQ(by_memory.size(), own.pieces(v).bytes());
      own.pieces(v).for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
        for (std::uint64_t b = 0; b < length; ++b)
          ASSERT_EQ(by_memory.at(memory + b), set.places.at(offset + own.variables[v].at + b)) << "seed " << seed;
      });
    }
  }
  EXPECT_GT(found_all, testing::cases(1000));
  EXPECT_GT(missed, testing::cases(100));
}

TEST(SetLookup, tells_all_that_was_written_in_an_extent) {
  for (std::uint64_t seed = 1; seed <= testing::cases(500); ++seed) {
    Random random{seed};
    const Written set = written(random);
    const SetLookup lookup{set.index};
    const Extent within{below(random, 300), 1 + below(random, 900)};
    Places found, expected;
    for (const auto& [offset, place] : set.places)
      if (offset >= within.offset && offset < within.end()) expected.emplace(offset, place);
    for (const SetLookup::Hit& hit : lookup.written(within)) {
      EXPECT_EQ(hit.memory, hit.offset - within.offset);
      for (std::uint64_t b = 0; b < hit.length; ++b) EXPECT_TRUE(found.emplace(hit.offset + b, hit.place + b).second);
    }
    ASSERT_EQ(found, expected) << "seed " << seed;
    const auto reach = lookup.reach();
    for (const auto& [offset, place] : set.places)
      ASSERT_TRUE(std::ranges::any_of(reach, [&](const Extent& e) { return e.offset <= offset && offset < e.end(); }));
  }
}

TEST(SetLookup, names_the_first_byte_that_nobody_wrote) {
  SetIndex index;
  index.file_bytes = {100};
  index.patterns.push_back({{{0, 1000}}, {{0, 0, {PieceList::of(std::vector<weir::Run>{{0, 100}})}, {100}}}});
  index.sections.push_back({0, 0, {0}});
  const SetLookup lookup{index};
  const Declaration wanted{{1050, 60, 0, 1}};
  const auto found = lookup.find(RankDeclaration::of(wanted).value(), "out.dat");
  EXPECT_EQ(found.status().code(), Code::end_of_file);
  EXPECT_NE(found.status().message().find("10 B at offset 1100 of 'out.dat'"), std::string::npos)
      << found.status().message();
}

TEST(PackedDeclaration, has_one_piece_a_variable_one_after_another) {
  const Declaration declared{{0, 10, 100, 5}, {7, 0, 0, 1}, {3, 30, 0, 1}};
  const RankDeclaration packed = packed_from(RankDeclaration::of(declared).value(), 1000);
  EXPECT_EQ(packed.pieces(0).pieces(), 1u);
  EXPECT_EQ(packed.pieces(0).begin(), 1000u);
  EXPECT_EQ(packed.pieces(0).bytes(), 50u);
  EXPECT_TRUE(packed.pieces(1).empty());
  EXPECT_EQ(packed.pieces(2).begin(), 1050u);
  EXPECT_EQ(packed.pieces(2).end(), 1080u);
}

}  // namespace
}  // namespace weir

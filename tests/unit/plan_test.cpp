#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir {
namespace {

const SimpleRule rule;

PlanRequest request_for(const NodeMap& nodes, std::uint32_t aggregators, std::uint64_t buffer, std::uint64_t alignment) {
  PlanRequest request;
  request.nodes = &nodes;
  request.model = &rule;
  request.limits.aggregators = aggregators;
  request.limits.buffer_size = buffer;
  request.limits.alignment = alignment;
  request.limits.mode = PlanLimits::Prefer::aggregate;
  return request;
}

std::vector<RankDeclaration> declared(const std::vector<Declaration>& ranks) {
  std::vector<RankDeclaration> result;
  for (const Declaration& declaration : ranks) result.push_back(RankDeclaration::of(declaration).value());
  return result;
}

/// Rank after rank, `bytes[r]` for rank r, in `variables` arrays.
std::vector<Declaration> row(const std::vector<std::uint64_t>& bytes, int variables) {
  std::vector<Declaration> ranks(bytes.size());
  std::uint64_t at = 0;
  for (int v = 0; v < variables; ++v)
    for (std::size_t r = 0; r < bytes.size(); ++r) {
      ranks[r].variable(Run{at, bytes[r]});
      at += bytes[r];
    }
  return ranks;
}

std::uint64_t stored(const RankPlan& plan) {
  std::uint64_t total = 0;
  for (const Extent& extent : plan.domain->extents) total += extent.length;
  return total;
}

TEST(Plan, domains_hold_equally_many_declared_bytes_where_the_file_has_holes) {
  const NodeMap nodes = NodeMap::blocks(4, 4);
  std::vector<Declaration> ranks(4);
  // The first half of the file is a thousand times thinner than the second.
  for (std::uint64_t r = 0; r < 4; ++r) ranks[r].variable({weir::Run{r * 4000, 4, 16000, 250}, weir::Run{8'000'000 + r * 1'000'000, 1'000'000}});
  const auto plans = plan_all(declared(ranks), request_for(nodes, 4, 1 << 20, 4096));
  ASSERT_EQ(plans[0].layout.domains.size(), 4);
  for (const Domain& domain : plans[0].layout.domains)
    EXPECT_NEAR(static_cast<double>(stored(plans[domain.aggregator])), 1'001'000, 5000);
}

TEST(Plan, domains_start_on_aligned_offsets_and_windows_fit_their_buffers) {
  const NodeMap nodes = NodeMap::blocks(5, 5);
  const auto plans = plan_all(declared(row({100'003, 7, 300'001, 0, 55'555}, 3)), request_for(nodes, 4, 50'000, 4096));
  const Layout& layout = plans[0].layout;
  for (const Domain& domain : layout.domains) {
    EXPECT_EQ(layout.to_file(layout.cuts[domain.first_window]) % 4096, 0);
    for (std::uint32_t w = domain.first_window; w < domain.first_window + domain.windows; ++w)
      EXPECT_LE(layout.cuts[w + 1] - layout.cuts[w], 50'000);
  }
}

TEST(Plan, every_declared_byte_is_stored_once_and_no_hole) {
  std::mt19937_64 random{5};
  for (int i = 0; i < 200; ++i) {
    const int count = 1 + static_cast<int>(random() % 7);
    const NodeMap nodes = NodeMap::blocks(count, 1 + static_cast<int>(random() % 4));
    std::vector<Declaration> ranks(static_cast<std::size_t>(count));
    std::vector<char> file(20000, 0);
    for (std::uint64_t piece = 0; piece < 60; ++piece) {
      const std::uint64_t at = piece * 300 + random() % 100, length = random() % 180;
      ranks[random() % ranks.size()].decomposition({weir::Run{at, length}});
      std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(at), length, 1);
    }
    // Give each rank all its pieces as one variable.
    std::vector<Declaration> whole(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      std::vector<weir::Run> runs;
      for (const auto& shape : ranks[r].shapes()) runs.insert(runs.end(), shape.runs.begin(), shape.runs.end());
      whole[r].variable(runs);
    }
    const auto plans = plan_all(declared(whole), request_for(nodes, 1 + random() % 4, 1 + random() % 3000, 1 + random() % 512));
    std::vector<char> covered(20000, 0);
    for (const RankPlan& plan : plans)
      if (plan.domain)
        for (const Extent& extent : plan.domain->extents)
          for (std::uint64_t b = extent.offset; b < extent.end(); ++b) ++covered[b];
    ASSERT_EQ(covered, file) << "case " << i;
  }
}

TEST(Plan, is_the_same_for_the_same_declarations_and_another_for_others) {
  const NodeMap nodes = NodeMap::blocks(4, 2);
  const auto request = request_for(nodes, 2, 4096, 1);
  const auto a = plan_all(declared(row({100, 200, 300, 400}, 2)), request);
  const auto b = plan_all(declared(row({100, 200, 300, 400}, 2)), request);
  const auto c = plan_all(declared(row({100, 200, 301, 400}, 2)), request);
  EXPECT_EQ(a[0].layout.hash, b[3].layout.hash);
  EXPECT_EQ(plan_text(a[0].layout, nodes), plan_text(b[0].layout, nodes));
  EXPECT_NE(a[0].layout.hash, c[0].layout.hash);
}

TEST(Plan, domains_of_sub_files_lie_in_one_and_belong_to_its_ranks) {
  std::mt19937_64 random{6};
  for (int i = 0; i < 200; ++i) {
    const int count = 1 + static_cast<int>(random() % 9);
    const NodeMap nodes = NodeMap::blocks(count, 1 + static_cast<int>(random() % 4));
    const char* ways[] = {"rank", "node", "nodes:2", "nodes:100"};
    auto request = request_for(nodes, random() % 6, 1 + random() % 3000, 1 + random() % 512);
    request.files = FileGroups::of(ways[i % 4], nodes);
    std::vector<Declaration> ranks(static_cast<std::size_t>(count));
    std::vector<std::uint64_t> ends(request.files.files, 0);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const auto file = static_cast<std::uint32_t>(request.files.group_of[r]);
      const std::uint64_t bytes = random() % 3 * (random() % 5000);
      ranks[r].variable(weir::Run{request.files.base(file) + ends[file], bytes});
      ends[file] += bytes;
    }
    const auto plans = plan_all(declared(ranks), request);
    const Layout& layout = plans[0].layout;
    std::vector<std::uint64_t> stored_in(ends.size(), 0);
    for (const Domain& domain : layout.domains) {
      for (const Extent& extent : plans[domain.aggregator].domain->extents) {
        ASSERT_EQ(layout.files.file_at(extent.offset), layout.files.group_of[domain.aggregator]) << "case " << i;
        ASSERT_EQ(layout.files.file_at(extent.end() - 1), layout.files.group_of[domain.aggregator]) << "case " << i;
        stored_in[layout.files.file_at(extent.offset)] += extent.length;
      }
      EXPECT_EQ(domain_of_rank(layout, domain.aggregator), static_cast<std::uint32_t>(&domain - layout.domains.data()));
    }
    ASSERT_EQ(stored_in, ends) << "case " << i;
    Writer out;
    layout.write(out);
    Reader in{out.data()};
    ASSERT_EQ(plan_text(Layout::read(in), nodes), plan_text(layout, nodes));
  }
}

TEST(Plan, reading_many_sub_files_leaves_out_the_void_between_them) {
  const NodeMap nodes = NodeMap::blocks(2, 2);
  auto request = request_for(nodes, 2, 4096, 512);
  request.direction = Direction::read;
  request.files = FileGroups::for_reading(5000);
  // So many pieces that footprints are coarse, in each of so many sub-files.
  std::vector<Declaration> ranks(2);
  for (std::uint64_t r = 0; r < 2; ++r) {
    std::vector<weir::Run> runs;
    for (std::uint32_t f = 0; f < 5000; ++f) runs.push_back({request.files.base(f) + r * 10, 10, 100, 20});
    ranks[r].variable(runs);
  }
  const auto plans = plan_all(declared(ranks), request);
  EXPECT_LE(plans[0].layout.windows(), 5000u);
  for (const Segment& segment : plans[0].layout.segments)
    ASSERT_EQ(request.files.file_at(segment.file), request.files.file_at(segment.file_end() - 1));
}

TEST(FileGroups, are_those_of_ranks_nodes_and_neighbouring_nodes) {
  const NodeMap nodes = NodeMap::of({0, 0, 1, 2, 1, 2, 2});
  EXPECT_TRUE(FileGroups::of("shared", nodes).shared());
  EXPECT_EQ(FileGroups::of("rank", nodes).group_of, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(FileGroups::of("node", nodes).group_of, (std::vector<int>{0, 0, 1, 2, 1, 2, 2}));
  EXPECT_EQ(FileGroups::of("nodes:2", nodes).group_of, (std::vector<int>{0, 0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(FileGroups::of("nodes:4000000000", nodes).files, 1u);
  const FileGroups groups = FileGroups::of("nodes:2", nodes);
  EXPECT_EQ(groups.files, 2u);
  EXPECT_EQ(groups.file_at(groups.base(1)), 1u);
  EXPECT_EQ(groups.inside(groups.base(1) + 5), 5u);
  const auto aggregators = [&](std::size_t wanted) {
    std::vector<std::vector<int>> ranks;
    for (const auto& part : groups.parts(wanted, nodes)) ranks.push_back(part.aggregators);
    return ranks;
  };
  EXPECT_EQ(aggregators(1), (std::vector<std::vector<int>>{{0}, {3}}));
  EXPECT_EQ(aggregators(4), (std::vector<std::vector<int>>{{0, 2}, {3}}));
  EXPECT_EQ(aggregators(100), (std::vector<std::vector<int>>{{0, 1, 2, 4}, {3, 5, 6}}));
}

TEST(Plan, survives_being_written_and_read) {
  const NodeMap nodes = NodeMap::blocks(3, 3);
  const auto plans = plan_all(declared(row({1000, 5000, 10}, 4)), request_for(nodes, 2, 700, 64));
  Writer out;
  plans[0].layout.write(out);
  plans[1].declaration.write(out);
  Reader in{out.data()};
  EXPECT_EQ(plan_text(Layout::read(in), nodes), plan_text(plans[0].layout, nodes));
  EXPECT_EQ(RankDeclaration::read(in).hash(), plans[1].declaration.hash());
  EXPECT_TRUE(in.ok() && in.at_end());
}

TEST(Plan, buffers_stay_within_plan_memory) {
  for (const std::uint64_t memory : {4096u, 5000u, 70'000u, 1u << 20, 64u << 20})
    for (const int nodes_wanted : {1, 2, 4})
      for (const std::uint32_t buffers : {1u, 2u, 3u, 16u}) {
        const NodeMap nodes = NodeMap::blocks(4, 4 / nodes_wanted);
        auto request = request_for(nodes, 0, 64 << 20, 4096);
        request.limits.memory = memory;
        request.limits.buffers = buffers;
        const auto plans = plan_all(declared(row({1 << 20, 1 << 20, 1 << 20, 1 << 20}, 1)), request);
        const Placement& placement = plans[0].layout.placement;
        EXPECT_LE(placement.aggregator_bytes(nodes.nodes()), memory) << nodes_wanted << " nodes, " << buffers << " buffers";
      }
}

TEST(Plan, is_direct_for_long_pieces_on_local_storage_unless_they_may_overlap) {
  const NodeMap nodes = NodeMap::blocks(2, 2);
  auto request = request_for(nodes, 0, 0, 0);
  request.limits.mode = PlanLimits::Prefer::any;
  EXPECT_EQ(plan_all(declared(row({4 << 20, 4 << 20}, 1)), request)[0].layout.placement.mode, Mode::direct);
  std::vector<Declaration> overlapping(2);
  overlapping[0].variable(weir::Run{0, 4 << 20});
  overlapping[1].variable(weir::Run{1 << 20, 4 << 20});
  const auto plans = plan_all(declared(overlapping), request);
  EXPECT_EQ(plans[0].declaration.pieces(0).bytes(), 1 << 20) << "the higher rank keeps the bytes";
}

}  // namespace
}  // namespace weir

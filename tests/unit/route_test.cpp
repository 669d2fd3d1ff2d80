#include "plan/route.hpp"

#include <gtest/gtest.h>

#include <random>

#include "plan/plan.hpp"

namespace weir {
namespace {

constexpr std::uint64_t file_size = 1 << 18;

/// Variables of few pieces anywhere in the file, so that most windows and segments have nothing of them.
RankDeclaration sparse(std::mt19937_64& random, std::vector<std::uint64_t>& at) {
  Declaration declaration;
  for (std::uint64_t& place : at) {
    std::vector<Run> runs;
    for (std::uint64_t i = random() % 4; i > 0; --i)
      runs.push_back({random() % (file_size / 2), 1 + random() % 300, 300 + random() % 20'000, 1 + random() % 5});
    declaration.variable(declaration.decomposition(runs), place);
  }
  return RankDeclaration::of(declaration).value();
}

struct Case {
  std::vector<RankDeclaration> ranks;
  Layout layout;
};

Case random_case(std::mt19937_64& random) {
  const NodeMap nodes = NodeMap::blocks(3, 3);
  const SimpleRule rule;
  PlanRequest request;
  request.nodes = &nodes;
  request.model = &rule;
  request.limits.aggregators = 1 + static_cast<std::uint32_t>(random() % 3);
  request.limits.buffer_size = 1 + random() % 5000;
  request.limits.alignment = 1 + random() % 600;
  request.limits.mode = PlanLimits::Prefer::aggregate;
  std::vector<std::uint64_t> at(1 + random() % 4);
  for (std::uint64_t& place : at) place = random() % (file_size / 4);
  Case result;
  std::vector<Footprint> footprints;
  std::vector<std::uint64_t> hashes(3);
  for (int rank = 0; rank < 3; ++rank) {
    result.ranks.push_back(sparse(random, at));
    footprints.push_back(Footprint::of(result.ranks.back(), 64));
  }
  result.layout = plan_layout(footprints, hashes, request).value();
  return result;
}

/// The same, by asking every variable about every window.
Route plainly(const RankDeclaration& declaration, const Layout& layout) {
  Route route;
  for (std::uint32_t w = 0; w < layout.windows(); ++w) {
    Edge edge{w, static_cast<std::uint32_t>(route.transfers.size()), 0, 0};
    for (std::uint32_t v = 0; v < declaration.variables.size(); ++v) {
      const auto [low, high] = window_range(layout, w, declaration.variables[v].at);
      const std::uint64_t bytes = declaration.pieces(v).bytes_before(high) - declaration.pieces(v).bytes_before(low);
      if (bytes == 0) continue;
      route.transfers.push_back({v, bytes, edge.bytes});
      edge.bytes += bytes;
      ++edge.transfers;
    }
    if (edge.transfers > 0) route.edges.push_back(edge);
  }
  return route;
}

std::vector<std::uint64_t> numbers(const Route& route) {
  std::vector<std::uint64_t> all;
  for (const Edge& e : route.edges)
    for (const std::uint64_t n : {std::uint64_t{e.window}, std::uint64_t{e.first_transfer}, std::uint64_t{e.transfers}, e.bytes})
      all.push_back(n);
  for (const Transfer& t : route.transfers)
    for (const std::uint64_t n : {std::uint64_t{t.variable}, t.bytes, t.payload}) all.push_back(n);
  return all;
}

TEST(Route, is_what_asking_every_variable_about_every_window_gives) {
  std::mt19937_64 random{11};
  for (int i = 0; i < 300; ++i) {
    const Case c = random_case(random);
    for (const RankDeclaration& declaration : c.ranks)
      ASSERT_EQ(numbers(Route::of(declaration, c.layout)), numbers(plainly(declaration, c.layout))) << "case " << i;
  }
}

TEST(Route, parts_by_domain_make_up_the_whole) {
  std::mt19937_64 random{12};
  for (int i = 0; i < 100; ++i) {
    const Case c = random_case(random);
    const Route whole = Route::of(c.ranks[0], c.layout);
    std::size_t edges = 0, transfers = 0;
    for (const Domain& domain : c.layout.domains) {
      const Route part = whole.part(domain);
      for (const Edge& edge : part.edges) {
        const Edge* same = whole.find(edge.window);
        ASSERT_NE(same, nullptr);
        ASSERT_EQ(edge.bytes, same->bytes);
        ASSERT_EQ(part.transfers[edge.first_transfer].variable, whole.transfers[same->first_transfer].variable);
      }
      edges += part.edges.size();
      transfers += part.transfers.size();
    }
    ASSERT_EQ(edges, whole.edges.size()) << "case " << i;
    ASSERT_EQ(transfers, whole.transfers.size()) << "case " << i;
  }
}

TEST(Route, copies_every_byte_through_the_windows_to_its_place_and_back) {
  std::mt19937_64 random{13};
  for (int i = 0; i < 100; ++i) {
    const Case c = random_case(random);
    const RankDeclaration& declaration = c.ranks[0];
    const Route route = Route::of(declaration, c.layout);
    for (std::uint32_t v = 0; v < declaration.variables.size(); ++v) {
      const PieceList& pieces = declaration.pieces(v);
      const std::uint64_t at = declaration.variables[v].at;
      std::vector<std::byte> memory(declaration.memory[declaration.variables[v].shape].bytes), back(memory.size());
      for (std::byte& b : memory) b = static_cast<std::byte>(1 + random() % 255);
      for (const Edge& edge : route.edges) {
        const std::uint64_t begin = c.layout.cuts[edge.window];
        std::vector<std::byte> buffer(c.layout.cuts[edge.window + 1] - begin), expected(buffer.size());
        const Range part{random() % 2 ? random() % file_size : 0, random() % 2 ? random() % file_size : ~std::uint64_t{0}};
        const auto [low, high] = window_range(c.layout, edge.window, at);
        pieces.for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t place) {
          for (std::uint64_t b = 0; b < length; ++b)
            if (offset + b >= std::max(low, part.low) && offset + b < std::min(high, part.high))
              expected[c.layout.to_packed(offset + b + at) - begin] = memory[place + b];
        });
        copy_in(c.layout, edge.window, pieces, at, memory.data(), buffer.data(), part);
        ASSERT_EQ(buffer, expected) << "case " << i << " window " << edge.window;
        copy_in(c.layout, edge.window, pieces, at, memory.data(), buffer.data());
        copy_out(c.layout, edge.window, pieces, at, buffer.data(), back.data());
      }
      pieces.for_each([&](std::uint64_t, std::uint64_t length, std::uint64_t place) {
        for (std::uint64_t b = place; b < place + length; ++b) ASSERT_EQ(back[b], memory[b]) << "case " << i;
      });
    }
  }
}

}  // namespace
}  // namespace weir

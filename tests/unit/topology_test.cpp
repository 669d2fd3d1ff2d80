#include "machine/topology.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "machine/dragonfly.hpp"
#include "machine/graph.hpp"
#include "machine/torus.hpp"
#include "machine/tree.hpp"
#include "topology_checks.hpp"

namespace weir {
namespace {

LinkClass link(double bandwidth, double latency = 1e-6) {
  return {"link", {bandwidth, Origin::configured, {}}, {latency, Origin::configured, {}}};
}

std::vector<int> route(const Topology& topology, int from, int to) {
  std::vector<int> links;
  topology.route(from, to, links);
  return links;
}

TEST(TorusTopology, routes_are_contiguous_and_shortest) {
  for (const std::vector<int>& shape : std::vector<std::vector<int>>{
           {1}, {2}, {3}, {7}, {1, 1, 1}, {4, 4}, {2, 3, 4}, {5, 1, 3}, {2, 2, 2, 2, 2}, {4, 3, 2, 2, 2}, {6, 5}}) {
    expect_sound(TorusTopology{shape, true, link(2e9)});
    expect_sound(TorusTopology{shape, false, link(2e9)});
  }
}

TEST(TorusTopology, takes_the_shorter_side_of_a_ring) {
  const TorusTopology torus{{8}, true, link(1)}, mesh{{8}, false, link(1)};
  EXPECT_EQ(torus.hops(0, 7), 1);
  EXPECT_EQ(torus.hops(1, 6), 3);
  EXPECT_EQ(torus.hops(0, 4), 4);
  EXPECT_EQ(mesh.hops(0, 7), 7);
}

TEST(TorusTopology, counts_the_last_coordinate_fastest_and_corrects_the_first_one_first) {
  const TorusTopology torus{{4, 4, 2}, true, link(1)};
  EXPECT_EQ(torus.coordinates(0), (std::vector{0, 0, 0}));
  EXPECT_EQ(torus.coordinates(1), (std::vector{0, 0, 1}));
  EXPECT_EQ(torus.coordinates(13), (std::vector{1, 2, 1}));
  EXPECT_EQ(torus.nodes(), 32);
  const std::vector<int> links = route(torus, 0, 8 + 2);
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0], route(torus, 0, 8)[0]);
  EXPECT_EQ(links[1], route(torus, 8, 8 + 2)[0]);
}

TEST(TreeTopology, routes_are_contiguous_and_shortest) {
  for (const std::vector<int>& arity :
       std::vector<std::vector<int>>{{1}, {5}, {4, 3}, {1, 4}, {3, 1}, {2, 2, 2}, {3, 2, 4}})
    expect_sound(FatTreeTopology{arity, {link(1), link(2)}});
  expect_sound(TreeTopology{5, {5, 5, 6, 7, 7, 6, 7, -1}, {link(1)}});
  expect_sound(TreeTopology{1, {-1}, {link(1)}});
}

TEST(TreeTopology, links_of_a_level_have_its_class_and_the_last_class_is_for_those_above) {
  const FatTreeTopology tree{{2, 2, 2}, {link(1), link(2)}};
  std::vector<int> classes;
  for (const int used : route(tree, 0, 7)) classes.push_back(tree.class_of(used));
  EXPECT_EQ(classes, (std::vector{0, 1, 1, 1, 1, 0}));
  EXPECT_EQ(tree.hops(0, 1), 2);
  EXPECT_EQ(tree.hops(0, 3), 4);
  EXPECT_EQ(tree.coordinates(6), (std::vector{1, 1, 0}));
}

TEST(TreeTopology, with_one_level_is_flat) {
  EXPECT_EQ((FatTreeTopology{{8}, {link(1)}}).kind(), "flat");
  EXPECT_EQ((FatTreeTopology{{8, 2}, {link(1)}}).kind(), "fat tree");
}

// With several links between groups a pair is given one of them, which can be farther away than another.
TEST(DragonflyTopology, routes_are_contiguous_and_may_be_longer_than_the_shortest) {
  for (const DragonflyTopology::Shape& shape : std::vector<DragonflyTopology::Shape>{
           {1, 1, 1, 1, 1}, {1, 2, 3, 2, 1}, {3, 2, 2, 2, 1}, {4, 2, 3, 1, 2}, {5, 1, 4, 2, 3}, {2, 3, 3, 2, 7}})
    expect_sound(DragonflyTopology{shape, link(1), link(2), link(3), link(4)}, Routes::longer_ones_too);
}

TEST(DragonflyTopology, routes_inside_a_group_are_shortest) {
  expect_sound(DragonflyTopology{{1, 3, 4, 2, 1}, link(1), link(2), link(3), link(4)}, Routes::shortest);
}

TEST(DragonflyTopology, a_route_uses_one_link_between_groups_and_at_most_a_row_and_a_column_on_each_side) {
  const DragonflyTopology topology{{3, 2, 4, 2, 2}, link(1), link(2), link(3), link(4)};
  EXPECT_EQ(topology.nodes(), 48);
  for (int from = 0; from < topology.nodes(); ++from)
    for (int to = 0; to < topology.nodes(); ++to) {
      if (from == to) continue;
      std::vector<int> used(4);
      for (const int taken : route(topology, from, to)) ++used[static_cast<std::size_t>(topology.class_of(taken))];
      const bool apart = topology.coordinates(from)[0] != topology.coordinates(to)[0];
      EXPECT_EQ(used[0], 2);
      EXPECT_LE(used[1], 1 + apart);
      EXPECT_LE(used[2], 1 + apart);
      EXPECT_EQ(used[3], apart);
    }
}

TEST(DragonflyTopology, pairs_of_groups_spread_over_their_links) {
  const DragonflyTopology topology{{2, 2, 2, 2, 4}, link(1), link(2), link(3), link(4)};
  std::set<int> global;
  for (int to = 8; to < 16; ++to)
    for (const int taken : route(topology, 0, to))
      if (topology.class_of(taken) == 3) global.insert(taken);
  EXPECT_EQ(global.size(), 4u);
}

TEST(DragonflyTopology, names_its_classes) {
  const DragonflyTopology topology{{2, 2, 2, 2, 4}, link(1), link(2), link(3), link(4)};
  EXPECT_EQ(topology.classes()[0].name, "node");
  EXPECT_EQ(topology.classes()[3].name, "global");
}

TEST(GraphTopology, routes_are_contiguous_and_shortest_in_random_networks) {
  std::mt19937 random{11};
  for (int round = 0; round < 30; ++round) {
    const int nodes = 1 + static_cast<int>(random() % 9), switches = static_cast<int>(random() % 4);
    const int vertices = nodes + switches;
    std::vector<GraphTopology::Edge> edges;
    for (int v = 1; v < vertices; ++v)
      edges.push_back({v, static_cast<int>(random() % static_cast<unsigned>(v)), static_cast<int>(random() % 2)});
    for (int extra = static_cast<int>(random() % 6); extra > 0 && vertices > 1; --extra) {
      const int a = static_cast<int>(random() % static_cast<unsigned>(vertices)), b = (a + 1) % vertices;
      edges.push_back({a, b, 0});
    }
    const GraphTopology graph{nodes, switches, edges, {link(1), link(2)}};
    EXPECT_TRUE(graph.connected());
    expect_sound(graph);
  }
}

TEST(GraphTopology, knows_when_a_node_cannot_be_reached) {
  EXPECT_FALSE((GraphTopology{3, 0, {{0, 1, 0}}, {link(1)}}).connected());
  EXPECT_TRUE((GraphTopology{2, 2, {{0, 1, 0}}, {link(1)}}).connected()) << "switches without use do no harm";
}

TEST(TableTopology, hops_are_those_of_the_table_and_each_pair_has_a_link_of_its_own) {
  const TableTopology table{{{0, 2, 5}, {2, 0, 3}, {4, 3, 0}}, link(1)};
  EXPECT_EQ(table.hops(0, 2), 5);
  EXPECT_EQ(table.hops(2, 0), 4);
  EXPECT_EQ(table.hops(1, 1), 0);
  std::set<int> links;
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      for (const int used : route(table, from, to)) {
        EXPECT_LT(used, table.links());
        links.insert(used);
      }
  EXPECT_EQ(links.size(), 6u);
}

TEST(Topology, a_route_carries_what_its_narrowest_link_does_and_takes_the_sum_of_the_times) {
  const FatTreeTopology tree{{2, 2}, {link(10, 1e-6), link(4, 3e-6)}};
  EXPECT_EQ(tree.bandwidth(0, 1), 10);
  EXPECT_EQ(tree.bandwidth(0, 3), 4);
  EXPECT_DOUBLE_EQ(tree.latency(0, 3), 8e-6);
  EXPECT_TRUE(std::isinf(tree.bandwidth(2, 2)));
}

TEST(Topology, an_unknown_bandwidth_is_no_limit) {
  const FatTreeTopology tree{{2, 2}, {link(0), link(4)}};
  EXPECT_TRUE(std::isinf(tree.bandwidth(0, 1)));
  EXPECT_EQ(tree.bandwidth(0, 3), 4);
}

TEST(Topology, equality_needs_the_same_kind_numbers_and_links) {
  const TorusTopology torus{{4, 2}, true, link(1)};
  EXPECT_TRUE((torus == TorusTopology{{4, 2}, true, link(1)}));
  EXPECT_FALSE((torus == TorusTopology{{4, 2}, false, link(1)}));
  EXPECT_FALSE((torus == TorusTopology{{2, 4}, true, link(1)}));
  EXPECT_FALSE((torus == TorusTopology{{4, 2}, true, link(2)}));
}

}  // namespace
}  // namespace weir

#pragma once

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

#include "machine/topology.hpp"

namespace weir {

/// The network that the routes of a topology belong to, learnt from all of them without knowing how links are numbered.
///
/// A route from a to b says that its first link starts at a, that each link starts where the last one ended, and that
/// the last one ends at b. When a route is not contiguous, or a link means different things in two routes, two nodes
/// become one place, which is found.
class LearntNetwork {
 public:
  explicit LearntNetwork(const Topology& topology) : nodes_{topology.nodes()}, same_(place_count(topology)) {
    std::iota(same_.begin(), same_.end(), 0);
    std::vector<int> links;
    for (int from = 0; from < nodes_; ++from)
      for (int to = 0; to < nodes_; ++to) {
        links.clear();
        topology.route(from, to, links);
        if (links.empty()) continue;
        join(start(links.front()), from);
        for (std::size_t k = 1; k < links.size(); ++k) join(end(links[k - 1]), start(links[k]));
        join(end(links.back()), to);
        for (const int link : links) used_[link] = true;
      }
    for (const auto& [link, used] : used_) next_[find(start(link))].push_back(find(end(link)));
  }

  /// Nodes are different places, and no link ends where it starts.
  [[nodiscard]] bool consistent() {
    std::map<int, int> node_at;
    for (int node = 0; node < nodes_; ++node)
      if (!node_at.emplace(find(node), node).second) return false;
    for (const auto& [link, used] : used_)
      if (find(start(link)) == find(end(link))) return false;
    return true;
  }

  /// Fewest links from a node to every other one, -1 where there is no way.
  std::vector<int> distances(int from) {
    std::map<int, int> distance{{find(from), 0}};
    std::vector<int> queue{find(from)};
    for (std::size_t k = 0; k < queue.size(); ++k)
      for (const int to : next_[queue[k]])
        if (distance.emplace(to, distance[queue[k]] + 1).second) queue.push_back(to);
    std::vector<int> result;
    for (int node = 0; node < nodes_; ++node) {
      const auto found = distance.find(find(node));
      result.push_back(found == distance.end() ? -1 : found->second);
    }
    return result;
  }

  [[nodiscard]] std::size_t links() const { return used_.size(); }

 private:
  static std::size_t place_count(const Topology& topology) {
    return static_cast<std::size_t>(topology.nodes()) + 2 * static_cast<std::size_t>(topology.links());
  }
  [[nodiscard]] int start(int link) const { return nodes_ + 2 * link; }
  [[nodiscard]] int end(int link) const { return nodes_ + 2 * link + 1; }
  int find(int place) {
    while (same_[static_cast<std::size_t>(place)] != place) {
      int& above = same_[static_cast<std::size_t>(place)];
      place = above = same_[static_cast<std::size_t>(above)];
    }
    return place;
  }
  void join(int a, int b) { same_[static_cast<std::size_t>(find(a))] = find(b); }

  int nodes_;
  std::vector<int> same_;
  std::map<int, bool> used_;
  std::map<int, std::vector<int>> next_;
};

enum class Routes : unsigned char { shortest, longer_ones_too };

/// What every topology promises.
inline void expect_sound(const Topology& topology, Routes routes = Routes::shortest) {
  LearntNetwork network{topology};
  EXPECT_TRUE(network.consistent());
  std::vector<int> links;
  for (int from = 0; from < topology.nodes(); ++from) {
    const std::vector<int> distances = network.distances(from);
    for (int to = 0; to < topology.nodes(); ++to) {
      links.assign(1, -7);
      topology.route(from, to, links);
      ASSERT_EQ(links.front(), -7) << "a route is appended";
      links.erase(links.begin());
      for (const int link : links) {
        ASSERT_GE(link, 0);
        ASSERT_LT(link, topology.links());
        ASSERT_GE(topology.class_of(link), 0);
        ASSERT_LT(topology.class_of(link), static_cast<int>(topology.classes().size()));
      }
      ASSERT_EQ(links.empty(), from == to);
      const int hops = topology.hops(from, to);
      ASSERT_EQ(hops, static_cast<int>(links.size())) << from << " to " << to;
      ASSERT_EQ(hops, topology.hops(to, from)) << from << " to " << to;
      if (routes == Routes::shortest)
        ASSERT_EQ(hops, distances[static_cast<std::size_t>(to)]) << from << " to " << to;
      else
        ASSERT_GE(hops, distances[static_cast<std::size_t>(to)]) << from << " to " << to;
    }
  }
}

}  // namespace weir

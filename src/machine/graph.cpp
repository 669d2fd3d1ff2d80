#include "machine/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir {

GraphTopology::GraphTopology(int nodes, int switches, std::vector<Edge> edges, std::vector<LinkClass> classes)
    : Topology{std::move(classes)}, nodes_{nodes}, switches_{switches}, edges_{std::move(edges)},
      ways_(static_cast<std::size_t>(nodes + switches)) {
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const int link = 2 * static_cast<int>(e);
    ways_[static_cast<std::size_t>(edges_[e].a)].push_back({edges_[e].b, link});
    ways_[static_cast<std::size_t>(edges_[e].b)].push_back({edges_[e].a, link + 1});
  }
  for (auto& ways : ways_) std::ranges::sort(ways, {}, [](const Way& way) { return std::pair{way.to, way.link}; });

  next_.assign(static_cast<std::size_t>(nodes_), std::vector<int>(ways_.size(), -1));
  std::vector<int> distance(ways_.size()), queue;
  for (int target = 0; target < nodes_; ++target) {
    std::ranges::fill(distance, -1);
    distance[static_cast<std::size_t>(target)] = 0;
    queue.assign(1, target);
    for (std::size_t k = 0; k < queue.size(); ++k)
      for (const Way& way : ways_[static_cast<std::size_t>(queue[k])])
        if (distance[static_cast<std::size_t>(way.to)] < 0) {
          distance[static_cast<std::size_t>(way.to)] = distance[static_cast<std::size_t>(queue[k])] + 1;
          queue.push_back(way.to);
        }
    for (std::size_t v = 0; v < ways_.size(); ++v)
      for (const Way& way : ways_[v])
        if (distance[v] > 0 && distance[static_cast<std::size_t>(way.to)] == distance[v] - 1) {
          next_[static_cast<std::size_t>(target)][v] = way.link;
          break;
        }
  }
}

bool GraphTopology::connected() const {
  for (int to = 0; to < nodes_; ++to)
    for (int from = 0; from < nodes_; ++from)
      if (from != to && next_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)] < 0) return false;
  return true;
}

void GraphTopology::route(int from, int to, std::vector<int>& links) const {
  while (from != to) {
    const int link = next_[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)];
    links.push_back(link);
    const Edge& edge = edges_[static_cast<std::size_t>(link / 2)];
    from = link % 2 == 0 ? edge.b : edge.a;
  }
}

std::vector<std::pair<std::string, std::string>> GraphTopology::parameters() const {
  std::vector<std::string> edges;
  for (const Edge& edge : edges_)
    edges.push_back(fmt::format("[{}, {}, \"{}\"]", edge.a, edge.b, classes()[static_cast<std::size_t>(edge.link_class)].name));
  return {{"nodes", fmt::to_string(nodes_)},
          {"switches", fmt::to_string(switches_)},
          {"edges", fmt::format("[{}]", fmt::join(edges, ", "))}};
}

TableTopology::TableTopology(std::vector<std::vector<int>> hops, LinkClass link)
    : Topology{{std::move(link)}}, hops_{std::move(hops)} {}

std::vector<std::pair<std::string, std::string>> TableTopology::parameters() const {
  std::vector<std::string> rows;
  for (const auto& row : hops_) rows.push_back(fmt::format("[{}]", fmt::join(row, ", ")));
  return {{"hops", fmt::format("[{}]", fmt::join(rows, ", "))}};
}

}  // namespace weir

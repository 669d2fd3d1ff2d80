#include "machine/make_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "machine/torus.hpp"
#include "machine/tree.hpp"

namespace weir {
namespace {

constexpr std::int64_t most_links = std::numeric_limits<int>::max();
constexpr std::int64_t most_stored = 1 << 24;  // vertices of trees and graphs, which are kept in memory
constexpr std::int64_t most_routes = 1 << 26;  // entries of a graph's routing table

/// The product, or a number beyond all limits; factors are positive.
std::int64_t product(std::initializer_list<std::int64_t> factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result)) return std::numeric_limits<std::int64_t>::max() / 4;
  return std::min(result, std::numeric_limits<std::int64_t>::max() / 4);
}

TopologyPtr refuse(Finding& finding, std::string key, std::string what, std::string remedy) {
  finding = {std::move(key), std::move(what), std::move(remedy)};
  return nullptr;
}

bool too_many(Finding& finding, std::string_view key, std::int64_t count, std::int64_t most, std::string_view of_what) {
  if (count <= most) return false;
  finding = {std::string{key}, fmt::format("more than {} {}", most, of_what), "describe a smaller machine"};
  return true;
}

/// Every vertex reaches the one top.
bool is_tree(int nodes, const std::vector<int>& parents, Finding& finding) {
  const int count = static_cast<int>(parents.size());
  const auto wrong = [&](std::string what, std::string remedy) {
    finding = {"parents", std::move(what), std::move(remedy)};
    return false;
  };
  int top = -1;
  for (int v = 0; v < count; ++v) {
    const int parent = parents[static_cast<std::size_t>(v)];
    if (parent == -1) {
      if (top >= 0) return wrong(fmt::format("both {} and {} are the top", top, v), "add a switch above both");
      if (v < nodes && count > 1) return wrong(fmt::format("node {} has no switch", v), "only the top switch has -1");
      top = v;
    } else if (parent < nodes || parent >= count) {
      return wrong(fmt::format("the parent {} of {} is not a switch", parent, v),
                   nodes < count ? fmt::format("switches are {} to {}; -1 stands for the top", nodes, count - 1)
                                 : std::string{"list the switches after the nodes; -1 stands for the top"});
    }
  }
  if (top < 0) return wrong("nothing is the top", "give the top switch -1");
  std::vector<char> reaches(parents.size(), 0);
  reaches[static_cast<std::size_t>(top)] = 1;
  std::vector<int> chain;
  for (int v = 0; v < count; ++v) {
    chain.clear();
    int at = v;
    for (; reaches[static_cast<std::size_t>(at)] == 0; at = parents[static_cast<std::size_t>(at)]) {
      reaches[static_cast<std::size_t>(at)] = 2;
      chain.push_back(at);
    }
    if (reaches[static_cast<std::size_t>(at)] == 2)
      return wrong(fmt::format("{} stands above itself", at), "every way up must end at the top");
    for (const int passed : chain) reaches[static_cast<std::size_t>(passed)] = 1;
  }
  return true;
}

}  // namespace

TopologyPtr make_grid(std::vector<int> shape, bool rings, LinkClass link, Finding& finding) {
  if (shape.empty()) return refuse(finding, "shape", "the shape is empty", "write the lengths, such as [4, 4, 2]");
  std::int64_t links = 2 * static_cast<std::int64_t>(shape.size());
  for (const int length : shape) {
    if (length < 1) return refuse(finding, "shape", fmt::format("a length of {}", length), "lengths are 1 or more");
    links = product({links, length});
  }
  if (too_many(finding, "shape", links, most_links, "links")) return nullptr;
  return std::make_shared<TorusTopology>(std::move(shape), rings, std::move(link));
}

TopologyPtr make_dragonfly(const DragonflyTopology::Shape& shape, std::vector<LinkClass> classes, Finding& finding) {
  const std::int64_t routers = product({shape.groups, shape.rows, shape.columns});
  const std::int64_t links = product({routers, std::int64_t{shape.rows} + shape.columns}) +
                             product({routers, 2, shape.nodes_per_router}) +
                             product({shape.groups, shape.groups, shape.global_links});
  if (too_many(finding, "groups", links, most_links, "links")) return nullptr;
  return std::make_shared<DragonflyTopology>(shape, std::move(classes[0]), std::move(classes[1]), std::move(classes[2]),
                                             std::move(classes[3]));
}

TopologyPtr make_fat_tree(std::vector<int> arity, std::vector<LinkClass> levels, Finding& finding) {
  if (arity.empty()) return refuse(finding, "arity", "no levels", "write what is below a switch, such as [36, 18]");
  std::int64_t nodes = 1;
  for (const int below : arity) {
    if (below < 1) return refuse(finding, "arity", fmt::format("{} below a switch", below), "write 1 or more");
    nodes = product({nodes, below});
  }
  // With one below every switch the levels above can be as large as the lowest one.
  const std::int64_t vertices = product({nodes, static_cast<std::int64_t>(arity.size()) + 1});
  if (too_many(finding, "arity", vertices, most_stored, "nodes and switches")) return nullptr;
  if (levels.size() > arity.size())
    return refuse(
        finding, "links",
        fmt::format("{} classes of links for {} level{}", levels.size(), arity.size(), arity.size() == 1 ? "" : "s"),
        "one class for each level, from the nodes up; the last one is also for those above");
  return std::make_shared<FatTreeTopology>(std::move(arity), std::move(levels));
}

TopologyPtr make_flat(int nodes, std::vector<LinkClass> levels, Finding& finding) {
  TopologyPtr topology = make_fat_tree({nodes}, std::move(levels), finding);
  if (!topology && finding.key == "arity") finding.key = "nodes";
  return topology;
}

TopologyPtr make_tree(int nodes, std::vector<int> parents, std::vector<LinkClass> levels, Finding& finding) {
  if (static_cast<std::int64_t>(parents.size()) < nodes)
    return refuse(finding, "parents", fmt::format("{} parents for {} nodes", parents.size(), nodes),
                  "write the parent of every node, then of every switch");
  if (too_many(finding, "parents", static_cast<std::int64_t>(parents.size()), most_stored, "nodes and switches"))
    return nullptr;
  if (!is_tree(nodes, parents, finding)) return nullptr;
  return std::make_shared<TreeTopology>(nodes, std::move(parents), std::move(levels));
}

TopologyPtr make_graph(int nodes, int switches, std::vector<GraphTopology::Edge> edges, std::vector<LinkClass> classes,
                       Finding& finding) {
  const std::int64_t vertices = std::int64_t{nodes} + switches;
  if (too_many(finding, "nodes", product({nodes, vertices}), most_routes, "entries in the routing table"))
    return nullptr;
  if (too_many(finding, "edges", static_cast<std::int64_t>(edges.size()), most_stored, "edges")) return nullptr;
  for (const auto& [a, b, link_class] : edges) {
    const int outside = a < 0 || a >= vertices ? a : b;
    if (outside < 0 || outside >= vertices)
      return refuse(finding, "edges", fmt::format("the edge [{}, {}] goes to {}, which is not there", a, b, outside),
                    fmt::format("nodes and switches are 0 to {}", vertices - 1));
    if (a == b)
      return refuse(finding, "edges", fmt::format("the edge [{}, {}] leads back to where it starts", a, b),
                    "an edge joins two different vertices");
  }
  auto graph = std::make_shared<GraphTopology>(nodes, switches, std::move(edges), std::move(classes));
  if (!graph->connected())
    return refuse(finding, "edges", "some nodes cannot reach each other", "add the edges that join the parts");
  return graph;
}

TopologyPtr make_table(std::vector<std::vector<int>> hops, LinkClass link, Finding& finding) {
  const std::size_t nodes = hops.size();
  if (nodes == 0) return refuse(finding, "hops", "no rows", "write a row for every node");
  if (too_many(finding, "hops", product({static_cast<std::int64_t>(nodes), static_cast<std::int64_t>(nodes)}),
               most_stored, "entries"))
    return nullptr;
  for (std::size_t from = 0; from < nodes; ++from) {
    if (hops[from].size() != nodes)
      return refuse(finding, "hops", fmt::format("row {} has {} entries instead of {}", from, hops[from].size(), nodes),
                    "the table has a row and a column for every node");
    for (std::size_t to = 0; to < nodes; ++to)
      if ((hops[from][to] == 0) != (from == to))
        return refuse(finding, "hops", fmt::format("{} hops from {} to {}", hops[from][to], from, to),
                      "a node is 0 hops from itself and 1 or more from others");
  }
  return std::make_shared<TableTopology>(std::move(hops), std::move(link));
}

}  // namespace weir

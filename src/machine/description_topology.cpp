#include "machine/description_topology.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/nearest.hpp"
#include "machine/make_topology.hpp"

namespace weir {
namespace {

constexpr std::array dragonfly_classes{"node", "row", "column", "global"};

bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::none_of(name, [](unsigned char c) { return c < ' ' || c == '"' || c == '\\'; });
}

/// The classes of links in the order in which they are written; one without figures where there are none.
std::vector<LinkClass> read_links(DescriptionTable& topology, DescriptionProblem& problem) {
  const toml::table* links = topology.table("links");
  if (!links) return {LinkClass{"link", {}, {}}};
  std::vector<std::pair<toml::source_position, LinkClass>> found;
  for (const auto& [key, node] : *links) {
    const std::string name{key.str()};
    const std::string table_name = fmt::format("[topology.links.{}]", name);
    const toml::table* table = node.as_table();
    if (!table) {
      problem.tell(key.source(), fmt::format("'{}' in [topology.links] is not a class of links", name),
                   "write a table for each class, such as [topology.links.link]");
      return {};
    }
    if (!is_plain(name)) {
      problem.tell(key.source(), fmt::format("'{}' in [topology.links] cannot be a name", name),
                   "a class has a name without quotation marks, backslashes and line ends");
      return {};
    }
    DescriptionTable reader{*table, table_name, problem};
    found.emplace_back(key.source().begin, LinkClass{name, reader.figure<Unit::bytes_per_second>("bandwidth"),
                                                     reader.figure<Unit::seconds>("latency")});
    if (!reader.done()) return {};
  }
  std::ranges::sort(found, {}, [](const auto& link) { return std::pair{link.first.line, link.first.column}; });
  std::vector<LinkClass> classes;
  for (auto& [position, link] : found) classes.push_back(std::move(link));
  if (classes.empty()) problem.tell(links->source(), "no class in [topology.links]", "add one, or leave the table out");
  return classes;
}

bool one_class(DescriptionTable& table, const std::vector<LinkClass>& links) {
  if (links.size() == 1) return true;
  table.tell(table.at("links"), fmt::format("{} classes of links where all links are alike", links.size()),
             "keep one class in [topology.links]");
  return false;
}

TopologyPtr read_grid(DescriptionTable& table, bool rings, std::vector<LinkClass> links, Finding& finding) {
  std::vector<int> shape = table.wholes("shape", 1, Need::required);
  if (!table.done() || !one_class(table, links)) return nullptr;
  return make_grid(std::move(shape), rings, std::move(links[0]), finding);
}

TopologyPtr read_torus(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  return read_grid(table, true, std::move(links), finding);
}

TopologyPtr read_mesh(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  return read_grid(table, false, std::move(links), finding);
}

TopologyPtr read_dragonfly(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  DragonflyTopology::Shape shape;
  shape.groups = table.whole("groups", 1);
  shape.rows = table.whole("rows", 1);
  shape.columns = table.whole("columns", 1);
  shape.nodes_per_router = table.whole("nodes_per_router", 1);
  shape.global_links = table.whole("global_links", 1, 1);
  if (!table.done()) return nullptr;
  std::vector<LinkClass> ordered(dragonfly_classes.size());
  if (table.has("links")) {
    for (std::size_t k = 0; k < ordered.size(); ++k) {
      const auto link = std::ranges::find(links, dragonfly_classes[k], &LinkClass::name);
      if (link == links.end()) {
        finding = {"links", fmt::format("no class '{}' in [topology.links]", dragonfly_classes[k]),
                   "a dragonfly has the classes node, row, column and global"};
        return nullptr;
      }
      ordered[k] = *link;
    }
    if (links.size() != ordered.size()) {
      finding = {"links", "a class in [topology.links] that a dragonfly does not have",
                 "a dragonfly has the classes node, row, column and global"};
      return nullptr;
    }
  }
  return make_dragonfly(shape, std::move(ordered), finding);
}

TopologyPtr read_fat_tree(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  std::vector<int> arity = table.wholes("arity", 1, Need::required);
  return table.done() ? make_fat_tree(std::move(arity), std::move(links), finding) : nullptr;
}

TopologyPtr read_flat(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  const int nodes = table.whole("nodes", 1);
  return table.done() ? make_flat(nodes, std::move(links), finding) : nullptr;
}

TopologyPtr read_tree(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  const int nodes = table.whole("nodes", 1);
  std::vector<int> parents = table.wholes("parents", -1, Need::required);
  return table.done() ? make_tree(nodes, std::move(parents), std::move(links), finding) : nullptr;
}

int class_named(DescriptionTable& table, const toml::node& node, const std::vector<LinkClass>& links) {
  const auto* name = node.as_string();
  const auto link = name ? std::ranges::find(links, name->get(), &LinkClass::name) : links.end();
  if (link != links.end()) return static_cast<int>(link - links.begin());
  std::vector<std::string> names;
  for (const LinkClass& known : links) names.push_back(known.name);
  table.tell(node.source(),
             name ? fmt::format("unknown class '{}' of an edge", name->get())
                  : std::string{"the class of an edge is not a text"},
             fmt::format("classes in [topology.links] are {}", fmt::join(names, ", ")));
  return 0;
}

TopologyPtr read_graph(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  const int nodes = table.whole("nodes", 1), switches = table.whole("switches", 0, 0);
  std::vector<GraphTopology::Edge> edges;
  if (const toml::array* list = table.list("edges", Need::required))
    for (const toml::node& node : *list) {
      const toml::array* edge = node.as_array();
      if (!edge || edge->size() < 2 || edge->size() > 3) {
        table.tell(node.source(), "an edge that does not have two ends", "write [from, to] or [from, to, \"class\"]");
        return nullptr;
      }
      if (edge->size() == 2 && links.size() > 1) {
        table.tell(node.source(), "an edge without a class where there are several", "write [from, to, \"class\"]");
        return nullptr;
      }
      edges.push_back({table.entry((*edge)[0], "edges", 0), table.entry((*edge)[1], "edges", 0),
                       edge->size() == 3 ? class_named(table, (*edge)[2], links) : 0});
    }
  return table.done() ? make_graph(nodes, switches, std::move(edges), std::move(links), finding) : nullptr;
}

TopologyPtr read_table(DescriptionTable& table, std::vector<LinkClass> links, Finding& finding) {
  std::vector<std::vector<int>> hops;
  if (const toml::array* rows = table.list("hops", Need::required))
    for (const toml::node& node : *rows) {
      const toml::array* row = node.as_array();
      if (!row) {
        table.tell(node.source(), "a row of 'hops' is not a list", "write a list of rows, such as [[0, 2], [2, 0]]");
        return nullptr;
      }
      auto& numbers = hops.emplace_back();
      for (const toml::node& number : *row) numbers.push_back(table.entry(number, "hops", 0));
    }
  if (!table.done() || !one_class(table, links)) return nullptr;
  return make_table(std::move(hops), std::move(links[0]), finding);
}

struct Kind {
  std::string_view name;
  TopologyPtr (*read)(DescriptionTable&, std::vector<LinkClass>, Finding&);
};
constexpr std::array kinds{Kind{"torus", read_torus},       Kind{"mesh", read_mesh},  Kind{"dragonfly", read_dragonfly},
                           Kind{"fat tree", read_fat_tree}, Kind{"flat", read_flat},  Kind{"tree", read_tree},
                           Kind{"graph", read_graph},       Kind{"table", read_table}};

}  // namespace

TopologyPtr read_topology(const toml::table& source, DescriptionProblem& problem) {
  DescriptionTable table{source, "[topology]", problem};
  const std::string name = table.text("kind", Need::required);
  std::vector<std::string_view> names;
  for (const Kind& kind : kinds) names.push_back(kind.name);
  const auto kind = std::ranges::find(kinds, name, &Kind::name);
  if (kind == kinds.end()) {
    problem.tell(
        table.at("kind"),
        table.has("kind") ? fmt::format("unknown kind '{}' of topology", name) : "no 'kind' in [topology]",
        fmt::format("{}kinds are {}", name.empty() ? "" : fmt::format("did you mean '{}'? ", nearest(name, names)),
                    fmt::join(names, ", ")));
    return nullptr;
  }
  std::vector<LinkClass> links = read_links(table, problem);
  if (!problem.ok()) return nullptr;
  Finding finding;
  TopologyPtr topology = kind->read(table, std::move(links), finding);
  if (!topology) problem.tell(table.at(finding.key), fmt::format("{} in [topology]", finding.what), finding.remedy);
  return topology;
}

}  // namespace weir

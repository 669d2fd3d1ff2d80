#include "machine/dragonfly.hpp"

#include <fmt/format.h>

namespace weir {
namespace {

LinkClass named(std::string_view name, LinkClass link) {
  link.name = name;
  return link;
}

}  // namespace

DragonflyTopology::DragonflyTopology(Shape shape, LinkClass node, LinkClass row, LinkClass column, LinkClass global)
    : Topology{{named("node", std::move(node)), named("row", std::move(row)), named("column", std::move(column)),
                named("global", std::move(global))}},
      shape_{shape},
      first_row_{2 * nodes()},
      first_column_{first_row_ + routers() * shape.columns},
      first_global_{first_column_ + routers() * shape.rows} {}

int DragonflyTopology::class_of(int link) const {
  return link < first_row_ ? 0 : link < first_column_ ? 1 : link < first_global_ ? 2 : 3;
}

std::vector<int> DragonflyTopology::coordinates(int node) const {
  const int router = node / shape_.nodes_per_router, inside = router % per_group();
  return {router / per_group(), inside / shape_.columns, inside % shape_.columns, node % shape_.nodes_per_router};
}

int DragonflyTopology::gate(int group, int other, int k) const {
  const int seen = other < group ? other : other - 1;
  return group * per_group() + (seen * shape_.global_links + k) % per_group();
}

void DragonflyTopology::inside_group(int from, int to, std::vector<int>& links) const {
  const int column = to % per_group() % shape_.columns;
  if (from % per_group() % shape_.columns != column) {
    links.push_back(first_row_ + from * shape_.columns + column);
    from = from - from % per_group() % shape_.columns + column;
  }
  if (from != to) links.push_back(first_column_ + from * shape_.rows + to % per_group() / shape_.columns);
}

void DragonflyTopology::route(int from, int to, std::vector<int>& links) const {
  if (from == to) return;
  int router = from / shape_.nodes_per_router;
  const int last = to / shape_.nodes_per_router;
  links.push_back(2 * from);
  const int group = router / per_group(), other = last / per_group();
  if (group != other) {
    const int k = (from + to) % shape_.global_links;  // spreads pairs over the parallel links
    const int out = gate(group, other, k);
    inside_group(router, out, links);
    links.push_back(first_global_ + (group * shape_.groups + other) * shape_.global_links + k);
    router = gate(other, group, k);
  }
  inside_group(router, last, links);
  links.push_back(2 * to + 1);
}

std::vector<std::pair<std::string, std::string>> DragonflyTopology::parameters() const {
  return {{"groups", fmt::to_string(shape_.groups)},
          {"rows", fmt::to_string(shape_.rows)},
          {"columns", fmt::to_string(shape_.columns)},
          {"nodes_per_router", fmt::to_string(shape_.nodes_per_router)},
          {"global_links", fmt::to_string(shape_.global_links)}};
}

}  // namespace weir

#include "machine/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <string_view>

#include "machine/tree.hpp"

namespace weir {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::size_t common_switches(const std::vector<std::vector<std::string>>& of_node) {
  std::size_t common = of_node.front().size();
  for (const auto& switches : of_node) {
    const auto [a, b] = std::ranges::mismatch(of_node.front(), switches);
    common = std::min(common, static_cast<std::size_t>(a - of_node.front().begin()));
  }
  return common;
}

}  // namespace

std::vector<std::string> scheduler_switches(const Lookup& environment) {
  const char* address = environment("SLURM_TOPOLOGY_ADDR");
  const char* pattern = environment("SLURM_TOPOLOGY_ADDR_PATTERN");
  if (!address || !pattern) return {};
  std::vector<std::string> names;
  const std::vector<std::string> kinds = split(pattern, '.');
  // Host names may have dots themselves: the node is all that is left after the switches.
  std::string_view rest{address};
  for (const std::string& kind : kinds) {
    if (kind == "node") return names;
    const auto dot = rest.find('.');
    if (dot == std::string_view::npos) return {};
    if (dot > 0) names.emplace_back(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
  return {};
}

std::vector<std::string> switches_in_name(std::string_view name) {
  while (!name.empty() && (name.back() == '\n' || name.back() == ' ')) name.remove_suffix(1);
  const std::string text{name};
  int cabinet = 0, row = 0, chassis = 0, slot = 0, controller = 0, node = 0, end = 0;
  const auto whole = [&](int fields, int found) { return found == fields && end == static_cast<int>(text.size()); };
  if (whole(5, std::sscanf(text.c_str(), "c%6d-%6dc%6ds%6dn%6d%n", &cabinet, &row, &chassis, &slot, &node, &end)))
    return {fmt::format("g{}-{}", cabinet / 2, row), fmt::format("c{}-{}c{}", cabinet, row, chassis), fmt::format("s{}", slot)};
  if (whole(5, std::sscanf(text.c_str(), "x%6dc%6ds%6db%6dn%6d%n", &cabinet, &chassis, &slot, &controller, &node, &end)))
    return {fmt::format("x{}", cabinet), fmt::format("c{}", chassis), fmt::format("s{}", slot)};
  if (whole(3, std::sscanf(text.c_str(), "r%6di%6dn%6d%n", &cabinet, &chassis, &node, &end)))
    return {fmt::format("r{}", cabinet), fmt::format("i{}", chassis)};
  return {};
}

std::vector<int> scheduler_shape(const Lookup& environment) {
  for (const std::string_view family : {"PJM_MPI_SHAPE_", "PJM_NODE_"}) {
    std::vector<int> lengths;
    for (const char axis : {'Z', 'Y', 'X'}) {
      const char* text = environment(fmt::format("{}{}", family, axis).c_str());
      if (!text) continue;
      int length = 0;
      const auto [end, error] = std::from_chars(text, text + std::char_traits<char>::length(text), length);
      if (error != std::errc{} || *end != '\0' || length < 1) return {};
      lengths.push_back(length);
    }
    if (!lengths.empty()) return lengths.size() > 1 ? lengths : std::vector<int>{};
  }
  return {};
}

std::vector<int> joined_parents(const std::vector<std::vector<std::string>>& switches_of_node) {
  const auto& of_node = switches_of_node;
  if (of_node.empty() || std::ranges::any_of(of_node, [](const auto& switches) { return switches.empty(); })) return {};
  const std::size_t common = common_switches(of_node);
  const int nodes = static_cast<int>(of_node.size());
  std::vector<int> parents(of_node.size(), -1);
  // The top: the lowest switch that all have, or one that nobody named.
  parents.push_back(-1);
  std::map<std::pair<int, std::string>, int> known;
  for (std::size_t node = 0; node < of_node.size(); ++node) {
    int above = nodes;
    for (std::size_t level = common; level < of_node[node].size(); ++level) {
      const auto [at, added] = known.try_emplace({above, of_node[node][level]}, static_cast<int>(parents.size()));
      if (added) parents.push_back(above);
      above = at->second;
    }
    parents[node] = above;
  }
  return parents;
}

TopologyPtr topology_of(int nodes, const std::vector<int>& parents, const LinkClass& link) {
  if (parents.size() <= static_cast<std::size_t>(nodes) + 1)
    return std::make_shared<FatTreeTopology>(std::vector<int>{nodes}, std::vector<LinkClass>{link});
  return std::make_shared<TreeTopology>(nodes, parents, std::vector<LinkClass>{link});
}

}  // namespace weir

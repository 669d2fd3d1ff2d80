#include "machine/tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace weir {
namespace {

int product(const std::vector<int>& factors) { return std::accumulate(factors.begin(), factors.end(), 1, std::multiplies{}); }

std::vector<int> regular_parents(const std::vector<int>& arity) {
  std::vector<int> parent;
  int level = product(arity), first_above = level;
  for (const int below : arity) {
    for (int k = 0; k < level; ++k) parent.push_back(first_above + k / below);
    level /= below;
    first_above += level;
  }
  parent.push_back(-1);
  return parent;
}

}  // namespace

TreeTopology::TreeTopology(int nodes, std::vector<int> parent, std::vector<LinkClass> levels)
    : Topology{std::move(levels)}, nodes_{nodes}, parent_{std::move(parent)}, depth_(parent_.size(), -1),
      height_(parent_.size(), 0) {
  std::vector<int> chain;
  for (std::size_t v = 0; v < parent_.size(); ++v) {
    chain.clear();
    for (int at = static_cast<int>(v); at >= 0 && depth_[static_cast<std::size_t>(at)] < 0; at = parent_[static_cast<std::size_t>(at)])
      chain.push_back(at);
    for (std::size_t k = chain.size(); k-- > 0;) {
      const auto at = static_cast<std::size_t>(chain[k]);
      depth_[at] = parent_[at] < 0 ? 0 : depth_[static_cast<std::size_t>(parent_[at])] + 1;
    }
  }
  for (int node = 0; node < nodes_; ++node) {
    int height = 0;
    for (int at = node; at >= 0; at = parent_[static_cast<std::size_t>(at)], ++height)
      height_[static_cast<std::size_t>(at)] = std::max(height_[static_cast<std::size_t>(at)], height);
  }
}

int TreeTopology::class_of(int link) const {
  return std::min(height_[static_cast<std::size_t>(link / 2)], static_cast<int>(classes().size()) - 1);
}

std::vector<int> TreeTopology::coordinates(int node) const {
  std::vector<int> at;
  for (int v = node; parent_[static_cast<std::size_t>(v)] >= 0; v = parent_[static_cast<std::size_t>(v)]) {
    const int above = parent_[static_cast<std::size_t>(v)];
    at.push_back(static_cast<int>(std::count(parent_.begin(), parent_.begin() + v, above)));
  }
  std::ranges::reverse(at);
  return at;
}

void TreeTopology::route(int from, int to, std::vector<int>& links) const {
  const std::size_t first = links.size();
  std::size_t ups = first;
  while (from != to) {
    // The deeper end goes up; its way down is found backwards and put in order at the end.
    if (depth_[static_cast<std::size_t>(from)] >= depth_[static_cast<std::size_t>(to)]) {
      links.insert(links.begin() + static_cast<std::ptrdiff_t>(ups++), 2 * from);
      from = parent_[static_cast<std::size_t>(from)];
    } else {
      links.push_back(2 * to + 1);
      to = parent_[static_cast<std::size_t>(to)];
    }
  }
  std::reverse(links.begin() + static_cast<std::ptrdiff_t>(ups), links.end());
}

std::vector<std::pair<std::string, std::string>> TreeTopology::parameters() const {
  return {{"nodes", fmt::to_string(nodes_)}, {"parents", fmt::format("[{}]", fmt::join(parent_, ", "))}};
}

FatTreeTopology::FatTreeTopology(std::vector<int> arity, std::vector<LinkClass> levels)
    : TreeTopology{product(arity), regular_parents(arity), std::move(levels)}, arity_{std::move(arity)} {}

std::vector<std::pair<std::string, std::string>> FatTreeTopology::parameters() const {
  if (arity_.size() == 1) return {{"nodes", fmt::to_string(arity_[0])}};
  return {{"arity", fmt::format("[{}]", fmt::join(arity_, ", "))}};
}

}  // namespace weir

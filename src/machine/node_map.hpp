#pragma once

#include <vector>

namespace weir {

/// Which rank runs on which node. Nodes are numbered in the order of their lowest rank.
struct NodeMap {
  std::vector<int> node_of;                ///< by rank
  std::vector<std::vector<int>> ranks_on;  ///< by node, ascending

  static NodeMap of(std::vector<int> node_of_rank) {
    NodeMap map;
    for (int rank = 0; rank < static_cast<int>(node_of_rank.size()); ++rank) {
      const auto node = static_cast<std::size_t>(node_of_rank[rank]);
      if (node >= map.ranks_on.size()) map.ranks_on.resize(node + 1);
      map.ranks_on[node].push_back(rank);
    }
    map.node_of = std::move(node_of_rank);
    return map;
  }
  /// `ranks` ranks in blocks of `per_node`.
  static NodeMap blocks(int ranks, int per_node) {
    std::vector<int> node_of(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) node_of[rank] = rank / per_node;
    return of(std::move(node_of));
  }
  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(node_of.size()); }
  [[nodiscard]] int nodes() const noexcept { return static_cast<int>(ranks_on.size()); }
};

}  // namespace weir

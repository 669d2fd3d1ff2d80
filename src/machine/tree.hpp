#pragma once

#include "machine/topology.hpp"

namespace weir {

/// Switches above nodes, each with one way up. Level 0 are the links of the nodes.
class TreeTopology : public Topology {
 public:
  /// `parent` of every vertex, nodes first, then switches; -1 for the top. A class of links for each level, the last one
  /// also for those above.
  TreeTopology(int nodes, std::vector<int> parent, std::vector<LinkClass> levels);

  [[nodiscard]] std::string_view kind() const noexcept override { return "tree"; }
  [[nodiscard]] int nodes() const noexcept override { return nodes_; }
  [[nodiscard]] int links() const noexcept override { return 2 * static_cast<int>(parent_.size()); }
  [[nodiscard]] int class_of(int link) const override;
  /// Position below each switch, from the top down.
  [[nodiscard]] std::vector<int> coordinates(int node) const override;
  void route(int from, int to, std::vector<int>& links) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] TopologyPtr with(std::vector<LinkClass> classes) const override {
    return changed(*this, std::move(classes));
  }

 private:
  int nodes_;
  std::vector<int> parent_;
  std::vector<int> depth_;   ///< of every vertex, the top has 0
  std::vector<int> height_;  ///< above the nodes
};

/// The same number of children below every switch of a level: a full-bisection or tapered fat tree whose parallel
/// switches count as one with the sum of their links. With one level all nodes are equally far: `flat`.
class FatTreeTopology : public TreeTopology {
 public:
  /// `arity` from the nodes up: {36, 18} are 18 switches of 36 nodes. A class of links for each of them.
  FatTreeTopology(std::vector<int> arity, std::vector<LinkClass> levels);

  [[nodiscard]] std::string_view kind() const noexcept override { return arity_.size() == 1 ? "flat" : "fat tree"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] TopologyPtr with(std::vector<LinkClass> classes) const override {
    return changed(*this, std::move(classes));
  }

 private:
  std::vector<int> arity_;
};

}  // namespace weir

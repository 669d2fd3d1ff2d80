#pragma once

#include "machine/topology.hpp"

namespace weir {

/// Any network: nodes and switches joined by edges, which carry both ways. Routes have the fewest links; among equally
/// long ones the lowest next vertex wins.
class GraphTopology : public Topology {
 public:
  struct Edge {
    int a = 0;
    int b = 0;
    int link_class = 0;

    bool operator==(const Edge&) const = default;
  };
  /// Vertices are the nodes, then the switches. Every node must be reachable from every other one.
  GraphTopology(int nodes, int switches, std::vector<Edge> edges, std::vector<LinkClass> classes);

  [[nodiscard]] bool connected() const;

  [[nodiscard]] std::string_view kind() const noexcept override { return "graph"; }
  [[nodiscard]] int nodes() const noexcept override { return nodes_; }
  [[nodiscard]] int links() const noexcept override { return 2 * static_cast<int>(edges_.size()); }
  [[nodiscard]] int class_of(int link) const override { return edges_[static_cast<std::size_t>(link / 2)].link_class; }
  [[nodiscard]] std::vector<int> coordinates(int node) const override { return {node}; }
  void route(int from, int to, std::vector<int>& links) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] TopologyPtr with(std::vector<LinkClass> classes) const override {
    return changed(*this, std::move(classes));
  }

 private:
  struct Way {
    int to = 0;
    int link = 0;
  };
  int nodes_, switches_;
  std::vector<Edge> edges_;
  std::vector<std::vector<Way>> ways_;   ///< by vertex
  std::vector<std::vector<int>> next_;   ///< link to take, by destination node and vertex; -1 where there is none
};

/// Hops between nodes as somebody counted them, when only these are known. Each ordered pair has a link of its own.
class TableTopology : public Topology {
 public:
  TableTopology(std::vector<std::vector<int>> hops, LinkClass link);

  [[nodiscard]] std::string_view kind() const noexcept override { return "table"; }
  [[nodiscard]] int nodes() const noexcept override { return static_cast<int>(hops_.size()); }
  [[nodiscard]] int links() const noexcept override { return nodes() * nodes(); }
  [[nodiscard]] int class_of(int) const override { return 0; }
  [[nodiscard]] std::vector<int> coordinates(int node) const override { return {node}; }
  void route(int from, int to, std::vector<int>& links) const override {
    if (from != to) links.push_back(from * nodes() + to);
  }
  [[nodiscard]] int hops(int from, int to) const override {
    return hops_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] TopologyPtr with(std::vector<LinkClass> classes) const override {
    return changed(*this, std::move(classes));
  }

 private:
  std::vector<std::vector<int>> hops_;
};

}  // namespace weir

#pragma once

#include "machine/topology.hpp"

namespace weir {

/// A grid of nodes in any number of dimensions, closed to rings (torus) or not (mesh). Nodes are numbered with the last
/// coordinate fastest; routes correct the first coordinate first, on the shorter side of a ring.
class TorusTopology : public Topology {
 public:
  TorusTopology(std::vector<int> shape, bool rings, LinkClass link);

  [[nodiscard]] std::string_view kind() const noexcept override { return rings_ ? "torus" : "mesh"; }
  [[nodiscard]] int nodes() const noexcept override { return nodes_; }
  [[nodiscard]] int links() const noexcept override { return nodes_ * 2 * static_cast<int>(shape_.size()); }
  [[nodiscard]] int class_of(int) const override { return 0; }
  [[nodiscard]] std::vector<int> coordinates(int node) const override;
  void route(int from, int to, std::vector<int>& links) const override;
  [[nodiscard]] int hops(int from, int to) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] TopologyPtr with(std::vector<LinkClass> classes) const override {
    return changed(*this, std::move(classes));
  }

 private:
  /// Steps along a dimension from one coordinate to another, negative to go down.
  [[nodiscard]] int steps(std::size_t dimension, int from, int to) const;

  std::vector<int> shape_;
  bool rings_;
  int nodes_ = 1;
};

}  // namespace weir

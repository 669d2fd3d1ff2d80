#pragma once

#include "machine/topology.hpp"

namespace weir {

/// Groups of routers in rows and columns; a router has a link to every other one of its row and of its column, and each
/// pair of groups has `global_links` links between them. Routes are minimal: at most one link between groups.
class DragonflyTopology : public Topology {
 public:
  struct Shape {
    int groups = 1;
    int rows = 1;
    int columns = 1;
    int nodes_per_router = 1;
    int global_links = 1;  ///< between two groups

    bool operator==(const Shape&) const = default;
  };
  /// Classes: node to router, row, column, between groups; they are named `node`, `row`, `column` and `global`.
  DragonflyTopology(Shape shape, LinkClass node, LinkClass row, LinkClass column, LinkClass global);

  [[nodiscard]] std::string_view kind() const noexcept override { return "dragonfly"; }
  [[nodiscard]] int nodes() const noexcept override { return routers() * shape_.nodes_per_router; }
  [[nodiscard]] int links() const noexcept override { return first_global_ + global_count(); }
  [[nodiscard]] int class_of(int link) const override;
  /// group, row, column, position at the router
  [[nodiscard]] std::vector<int> coordinates(int node) const override;
  void route(int from, int to, std::vector<int>& links) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] TopologyPtr with(std::vector<LinkClass> classes) const override {
    return changed(*this, std::move(classes));
  }

 private:
  [[nodiscard]] int per_group() const noexcept { return shape_.rows * shape_.columns; }
  [[nodiscard]] int routers() const noexcept { return shape_.groups * per_group(); }
  [[nodiscard]] int global_count() const noexcept { return shape_.groups * shape_.groups * shape_.global_links; }
  /// The router of `group` that holds the k-th link to another group.
  [[nodiscard]] int gate(int group, int other, int k) const;
  void inside_group(int from, int to, std::vector<int>& links) const;

  Shape shape_;
  int first_row_, first_column_, first_global_;
};

}  // namespace weir

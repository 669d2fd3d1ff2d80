#pragma once

#include "machine/dragonfly.hpp"
#include "machine/graph.hpp"
#include "machine/topology.hpp"

namespace weir {

/// What is wrong with a machine: the key in a description, the reason, and what to do.
struct Finding {
  std::string key;  ///< "shape", "io.bridges"
  std::string what;
  std::string remedy;
};

/// These make a topology out of numbers that somebody wrote. Nothing, and a finding, where they make no sense or more
/// links than an `int` can count.
TopologyPtr make_grid(std::vector<int> shape, bool rings, LinkClass link, Finding& finding);
/// Classes: node, row, column, global.
TopologyPtr make_dragonfly(const DragonflyTopology::Shape& shape, std::vector<LinkClass> classes, Finding& finding);
TopologyPtr make_fat_tree(std::vector<int> arity, std::vector<LinkClass> levels, Finding& finding);
/// A fat tree of one level, whose number of nodes is its own key.
TopologyPtr make_flat(int nodes, std::vector<LinkClass> levels, Finding& finding);
TopologyPtr make_tree(int nodes, std::vector<int> parents, std::vector<LinkClass> levels, Finding& finding);
TopologyPtr make_graph(int nodes, int switches, std::vector<GraphTopology::Edge> edges, std::vector<LinkClass> classes,
                       Finding& finding);
TopologyPtr make_table(std::vector<std::vector<int>> hops, LinkClass link, Finding& finding);

}  // namespace weir

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weir/status.hpp>

#include "machine/tree.hpp"

namespace weir {

/// The switches of a cluster as its scheduler knows them.
struct SlurmTopology {
  std::shared_ptr<const TreeTopology> tree;
  std::vector<std::string> nodes;     ///< names; nodes of a switch are neighbours in this order
  std::vector<std::string> switches;  ///< in the order of the tree's vertices after the nodes
};

/// Reads a topology.conf of Slurm: lines `SwitchName=s0 Nodes=n[0-3,7]` and `SwitchName=top Switches=s[0-1]`.
/// `levels` are the classes of links, from the nodes up. What is wrong is told with its line.
Result<SlurmTopology> read_slurm_topology(std::string_view text, std::string_view origin_name,
                                          std::vector<LinkClass> levels);

}  // namespace weir

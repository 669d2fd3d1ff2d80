#pragma once

#include <vector>

#include "machine/node_facts.hpp"

namespace weir {

/// What the nodes of a job have in common, and how they are connected: small, whatever their number.
struct JoinedNodes {
  int nodes = 1;
  int systems = 1;           ///< below the number of nodes when some are only pretended
  NodeFacts common;          ///< of the first node, less what not all have; host names are joined into one hash
  std::vector<int> parents;  ///< empty: all equally far
  std::vector<Bank> servers;  ///< memory of other nodes that the job may use

  bool operator==(const JoinedNodes&) const = default;
};

/// Banks that not all nodes have are left out; of the others the smallest capacity and the lowest speed count. Nodes
/// that run on one kernel share its memory and its directories.
JoinedNodes join(const std::vector<NodeFacts>& nodes);

void store(Writer& to, const JoinedNodes& joined);
JoinedNodes load_joined_nodes(Reader& from);

/// The banks that all nodes have, and those of servers.
std::vector<Bank> banks_of(const JoinedNodes& joined);

/// The machine as far as the system tells it; what it does not tell is assumed.
Machine machine_of(const JoinedNodes& joined, int ranks_per_node);
inline Machine machine_of(const std::vector<NodeFacts>& nodes, int ranks_per_node) {
  return machine_of(join(nodes), ranks_per_node);
}

}  // namespace weir

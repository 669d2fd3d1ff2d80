#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/topology.hpp"

namespace weir {

using Lookup = std::function<const char*(const char* variable)>;

/// The switches between this node and the top of the network as the scheduler tells them, top first; none when it does
/// not. Slurm does with its topology/tree and topology/block plugins; PBS and Flux have no such variables.
std::vector<std::string> scheduler_switches(const Lookup& environment);

/// The same from the name of a node that says where it stands, whatever schedules it: of a Cray XC c3-0c1s7n2 (group of
/// two cabinets, chassis, blade), of an EX x1000c3s5b0n1 (cabinet, chassis, slot), of an HPE ICE r12i3n4 (rack,
/// enclosure). None when it is no such name.
std::vector<std::string> switches_in_name(std::string_view name);

/// The lengths of the block of nodes that a job has on a mesh or torus, the slowest first, where the scheduler tells:
/// Fujitsu's does (PJM_MPI_SHAPE_X, or PJM_NODE_X, and so on), whose ranks go along x first. None when the nodes are a
/// row, which may lie anywhere.
std::vector<int> scheduler_shape(const Lookup& environment);

/// The parents of nodes, then of the switches above them, as `TreeTopology` wants them; a switch is told from others of
/// its name by those above it. Switches above the lowest one that has all nodes below it are left out. Empty when some
/// node has no switch.
std::vector<int> joined_parents(const std::vector<std::vector<std::string>>& switches_of_node);

/// A tree with these parents; flat when there are none, or one switch.
TopologyPtr topology_of(int nodes, const std::vector<int>& parents, const LinkClass& link);

}  // namespace weir

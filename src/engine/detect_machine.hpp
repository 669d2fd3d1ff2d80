#pragma once

#include "core/settings.hpp"
#include "exchange/team.hpp"
#include "machine/detect.hpp"
#include "machine/joined_nodes.hpp"
#include "remote/remote_memory.hpp"

namespace weir {

/// What settings say about detection: node-local directories; and the storage that is asked about.
DetectOptions detect_options(const ResolvedSettings& settings, std::string storage_path);

/// What the nodes of a team have: the first rank of each looks, rank 0 joins, all get the same. An error on any node is
/// everybody's. Memory in proportion to the nodes on rank 0 only, except for a tree of switches. Memory servers that do
/// not answer are a warning on rank 0. Collective.
Result<JoinedNodes> detect_nodes(Team& team, const DetectOptions& options, const RemoteOptions& servers = {});

/// The machine that a team runs on, the same on every rank; pretended nodes count as nodes. Collective.
Result<Machine> detect_machine(Team& team, const DetectOptions& options);

/// The most ranks that a node of the team has.
int most_ranks_on_a_node(const Team& team) noexcept;

}  // namespace weir

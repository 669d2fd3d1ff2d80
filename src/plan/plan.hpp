#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/aggregator_election.hpp"
#include "plan/route.hpp"

namespace weir {

/// What an aggregator gets from (or gives to) the ranks of one other node.
struct Inbox {
  int relay = -1;          ///< the rank that speaks for that node
  RankDeclaration pieces;  ///< of all its ranks together, packed, as far as the domain needs them
  Route route;             ///< through the domain
};

/// An aggregator's own part of a plan. Windows are counted from the domain's first.
struct DomainPart {
  std::uint32_t domain = 0;
  std::vector<Extent> extents;              ///< what is really written, by window; holes are not in it
  std::vector<std::uint32_t> first_extent;  ///< of each window, and the end
  std::vector<std::uint32_t> arrivals;      ///< ranks of its own node that take part in each window
  std::vector<Inbox> inboxes;
  std::vector<int> local_ranks;             ///< ranks of its own node with an edge to the domain
  bool overlap = false;                     ///< some byte is written twice

  [[nodiscard]] std::uint64_t list_bytes() const;
};

/// The ranks of a node seen as one, for windows that are aggregated on other nodes.
///
/// The node's bytes of a shape are thought of as packed: one after another in the order of the file.
struct NodePart {
  Route route;
  std::vector<std::uint64_t> packed;  ///< by transfer of the route: its place among the packed bytes
  std::vector<PieceList> mine;        ///< this rank's shapes, with offsets in that packed space

  [[nodiscard]] std::uint64_t list_bytes() const;
};

/// What a rank needs to relay its node's data of one domain.
struct RelayPart {
  std::uint32_t domain = 0;
  std::vector<std::uint32_t> arrivals;  ///< ranks of the node that take part, by edge of the node's route to the domain
  std::vector<int> local_ranks;
};

/// What an aggregator gets from (or gives to) the dump of one rank.
struct Source {
  int rank = -1;
  Inbox inbox;
  std::vector<std::uint64_t> places;  ///< in the dump, by edge of the inbox's route
};

/// How a rank's bytes lie in remote memory: its dump has them packed, window after window.
struct RemotePart {
  NodePart dump;                      ///< of this rank alone
  std::vector<std::uint64_t> places;  ///< in the dump, by edge of its route, and the end
  std::vector<Source> sources;        ///< for an aggregator: the ranks that have bytes in its domain

  [[nodiscard]] std::uint64_t list_bytes() const;
};

/// A plan as one rank holds it.
struct RankPlan {
  Layout layout;
  RankDeclaration declaration;
  std::vector<std::uint64_t> variable_bytes;  ///< as declared, before overlaps were resolved
  Route route;
  std::optional<DomainPart> domain;
  std::optional<NodePart> node;
  std::vector<RelayPart> relays;
  std::optional<RemotePart> remote;
  bool overlap = false;  ///< some byte is written twice, by any rank
  bool echoes = false;   ///< some of this rank's bytes are read into two places

  [[nodiscard]] std::uint64_t list_bytes() const;
};

/// The rank that relays a domain for a node other than the aggregator's.
int relay_rank(const NodeMap& nodes, int node, std::uint32_t domain) noexcept;
/// The domain that a rank aggregates, if any.
std::optional<std::uint32_t> domain_of_rank(const Layout& layout, int rank);
/// Whether a rank relays a domain.
bool relays(const Layout& layout, const NodeMap& nodes, int rank, std::uint32_t domain) noexcept;

/// A rank of this node as its neighbours see it.
struct Neighbour {
  int rank = -1;
  const RankDeclaration* declaration = nullptr;
  const Route* route = nullptr;
};

/// The union of the declarations of a node's ranks.
RankDeclaration node_union(std::span<const Neighbour> neighbours);
/// Whether ranks of the node overlap in some shape, which the union `together` no longer shows.
bool hides_overlap(std::span<const Neighbour> neighbours, const RankDeclaration& together);
NodePart make_node_part(const RankDeclaration& pieces, const Layout& layout, const RankDeclaration& mine);
/// `pieces` are those of all ranks of the other node, `relay` is the one that speaks for it.
Inbox make_inbox(const Layout& layout, std::uint32_t domain, int relay, const RankDeclaration& pieces);
DomainPart make_domain_part(const Layout& layout, std::uint32_t domain, std::span<const Neighbour> neighbours,
                            std::vector<Inbox> inboxes);
std::vector<RelayPart> make_relay_parts(const Layout& layout, const NodeMap& nodes, int rank, const NodePart& node,
                                        std::span<const Neighbour> neighbours);

RemotePart make_remote_part(const Layout& layout, const RankDeclaration& declaration);
/// The rank's dump as the aggregator of a domain sees it; without edges when it has no bytes there.
Source make_source(const Layout& layout, std::uint32_t domain, int rank, const RankDeclaration& declaration);
/// The same from its pieces in the domain, and where they begin in the dump.
Source make_source(const Layout& layout, std::uint32_t domain, int rank, const RankDeclaration& pieces,
                   std::uint64_t place);

/// Where overlapping pieces must give way: the declaration without the bytes that `stronger` ranks or its own later
/// variables write. Every variable gets a shape of its own, at 0. The work is n log n in the pieces of all of them.
RankDeclaration without_overlaps(const RankDeclaration& declaration, std::span<const RankDeclaration> stronger);

/// What `plan_all` and the ranks of a job start from.
struct PlanRequest {
  Direction direction = Direction::write;
  const NodeMap* nodes = nullptr;
  PlanLimits limits;
  StorageTraits storage;
  FileGroups files;
  const PlacementModel* model = nullptr;
  const Machine* machine = nullptr;  ///< where it is known, its model chooses the aggregators
  bool trusts_figures = true;        ///< of the machine; else they only say where to aggregate, not whether
  ElectionRules rules;
};

/// Footprints to layout, with the hash that all ranks share.
Result<Layout> plan_layout(std::span<const Footprint> footprints, std::span<const std::uint64_t> declaration_hashes,
                   const PlanRequest& request);

/// The plans of all ranks, made in one process without MPI: the reference for what ranks work out together.
std::vector<RankPlan> plan_all(std::vector<RankDeclaration> declarations, const PlanRequest& request);

/// Every domain and window as text.
std::string plan_text(const Layout& layout, const NodeMap& nodes);
/// What was chosen and why, in words.
std::string explain_plan(const Layout& layout, const NodeMap& nodes);
/// What a machine of one node makes of a layout for which nobody asked it: what each way would take, where the buffers
/// are, what the links carry.
struct Opinion {
  std::string text;
  double predicted_s = 0;
};
Opinion opinion_on(const Layout& layout, const NodeMap& nodes, const Machine& machine);

}  // namespace weir

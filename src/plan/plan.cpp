#include "plan/plan.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <queue>

#include "core/covered.hpp"
#include "core/units.hpp"
#include "model/machine_rule.hpp"

namespace weir {

std::uint64_t DomainPart::list_bytes() const {
  std::uint64_t total = extents.capacity() * sizeof(Extent) +
                        (first_extent.capacity() + arrivals.capacity()) * sizeof(std::uint32_t);
  for (const Inbox& inbox : inboxes) total += inbox.pieces.list_bytes() + inbox.route.list_bytes();
  return total;
}

std::uint64_t NodePart::list_bytes() const {
  std::uint64_t total = route.list_bytes() + packed.capacity() * sizeof(std::uint64_t);
  for (const PieceList& list : mine) total += list.list_bytes();
  return total;
}

std::uint64_t RankPlan::list_bytes() const {
  std::uint64_t total = layout.list_bytes() + declaration.list_bytes() + route.list_bytes() +
                        variable_bytes.capacity() * sizeof(std::uint64_t);
  if (domain) total += domain->list_bytes();
  if (node) total += node->list_bytes();
  if (remote) total += remote->list_bytes();
  for (const RelayPart& relay : relays) total += relay.arrivals.capacity() * sizeof(std::uint32_t);
  return total;
}

int relay_rank(const NodeMap& nodes, int node, std::uint32_t domain) noexcept {
  const auto& ranks = nodes.ranks_on[static_cast<std::size_t>(node)];
  return ranks[domain % ranks.size()];
}

std::optional<std::uint32_t> domain_of_rank(const Layout& layout, int rank) {
  for (std::uint32_t d = 0; d < layout.domains.size(); ++d)
    if (layout.domains[d].aggregator == rank) return d;
  return std::nullopt;
}

bool relays(const Layout& layout, const NodeMap& nodes, int rank, std::uint32_t domain) noexcept {
  const int node = nodes.node_of[static_cast<std::size_t>(rank)];
  const auto aggregator = static_cast<std::size_t>(layout.domains[domain].aggregator);
  const auto& groups = layout.files.group_of;
  if (!groups.empty() && groups[aggregator] != groups[static_cast<std::size_t>(rank)]) return false;
  return nodes.node_of[aggregator] != node && relay_rank(nodes, node, domain) == rank;
}

RankDeclaration node_union(std::span<const Neighbour> neighbours) {
  RankDeclaration result;
  result.variables = neighbours.front().declaration->variables;
  for (std::size_t s = 0; s < neighbours.front().declaration->shapes.size(); ++s) {
    std::vector<const PieceList*> lists;
    for (const Neighbour& neighbour : neighbours) lists.push_back(&neighbour.declaration->shapes[s]);
    result.shapes.push_back(PieceList::union_of(lists));
  }
  return result;
}

bool hides_overlap(std::span<const Neighbour> neighbours, const RankDeclaration& together) {
  for (std::size_t s = 0; s < together.shapes.size(); ++s) {
    std::uint64_t bytes = 0;
    for (const Neighbour& neighbour : neighbours) bytes += neighbour.declaration->shapes[s].bytes();
    if (bytes != together.shapes[s].bytes()) return true;
  }
  return false;
}

NodePart make_node_part(const RankDeclaration& pieces, const Layout& layout, const RankDeclaration& mine) {
  NodePart part{Route::of(pieces, layout), {}, {}};
  part.packed.reserve(part.route.transfers.size());
  for (const Edge& edge : part.route.edges)
    for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t) {
      const std::uint32_t v = part.route.transfers[t].variable;
      const Range range = window_range(layout, edge.window, pieces.variables[v].at);
      part.packed.push_back(pieces.pieces(v).bytes_before(range.low));
    }
  for (std::size_t s = 0; s < mine.shapes.size(); ++s) {
    PieceList packed;
    PieceList::Counter counter{pieces.shapes[s]};
    mine.shapes[s].for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
      packed.append(counter.bytes_before(offset), length, memory);
    });
    packed.shrink();
    part.mine.push_back(std::move(packed));
  }
  return part;
}

namespace {

/// By shape the extent that all its variables' parts inside a file range lie in, as the shape sees them.
std::vector<Extent> shapes_within(const RankDeclaration& outline, Extent range) {
  std::vector<Extent> within(outline.shapes.size());
  for (const auto& variable : outline.variables) {
    if (range.end() <= variable.at) continue;
    Extent& extent = within[static_cast<std::size_t>(variable.shape)];
    const std::uint64_t low = range.offset > variable.at ? range.offset - variable.at : 0;
    const std::uint64_t high = range.end() - variable.at;
    extent = extent.length == 0 ? Extent{low, high - low}
                                : Extent{std::min(extent.offset, low),
                                         std::max(extent.end(), high) - std::min(extent.offset, low)};
  }
  return within;
}

/// Everything that is declared inside a file range, merged.
std::vector<Extent> declared_extents(std::span<const RankDeclaration* const> declarations, Extent range) {
  const RankDeclaration& outline = *declarations.front();
  const std::vector<Extent> within = shapes_within(outline, range);
  std::vector<std::optional<std::vector<Extent>>> shapes(within.size());
  std::vector<Extent> extents;
  std::vector<const PieceList*> lists;
  for (const auto& variable : outline.variables) {
    if (range.end() <= variable.at) continue;
    auto& shape = shapes[static_cast<std::size_t>(variable.shape)];
    if (!shape) {
      lists.clear();
      for (const RankDeclaration* declaration : declarations) lists.push_back(&declaration->shapes[variable.shape]);
      shape = covered(lists, within[static_cast<std::size_t>(variable.shape)]);
    }
    const std::uint64_t low = range.offset > variable.at ? range.offset - variable.at : 0;
    const std::uint64_t high = range.end() - variable.at;
    for (auto it = std::partition_point(shape->begin(), shape->end(), [&](const Extent& e) { return e.end() <= low; });
         it != shape->end() && it->offset < high; ++it) {
      const std::uint64_t from = std::max(it->offset, low), to = std::min(it->end(), high);
      extents.push_back({from + variable.at, to - from});
    }
  }
  normalise(extents);
  return extents;
}

/// The file range of a domain's windows, holes included.
Extent file_range(const Layout& layout, const Domain& domain) {
  const std::uint64_t low = layout.to_file(layout.cuts[domain.first_window]);
  return {low, layout.to_file(layout.cuts[domain.first_window + domain.windows] - 1) + 1 - low};
}

/// Cuts sorted extents at the windows' borders.
void cut_by_window(const Layout& layout, const Domain& domain, const std::vector<Extent>& whole, DomainPart& part) {
  std::size_t next = 0;
  for (std::uint32_t w = domain.first_window; w < domain.first_window + domain.windows; ++w) {
    part.first_extent.push_back(static_cast<std::uint32_t>(part.extents.size()));
    const Extent range = layout.window_file_range(w);
    for (; next < whole.size() && whole[next].offset < range.end(); ++next) {
      const std::uint64_t from = std::max(whole[next].offset, range.offset);
      const std::uint64_t to = std::min(whole[next].end(), range.end());
      part.extents.push_back({from, to - from});
      if (whole[next].end() > range.end()) break;
    }
  }
  part.first_extent.push_back(static_cast<std::uint32_t>(part.extents.size()));
}

/// A reader takes whole segments: what lies in the small gaps is read too and not used.
void whole_segments(const Layout& layout, const Domain& domain, DomainPart& part) {
  for (std::uint32_t w = domain.first_window; w < domain.first_window + domain.windows; ++w) {
    part.first_extent.push_back(static_cast<std::uint32_t>(part.extents.size()));
    for (std::uint64_t at = layout.cuts[w]; at < layout.cuts[w + 1];) {
      const Segment& segment = layout.segments[layout.segment_at(at)];
      const std::uint64_t end = std::min(layout.cuts[w + 1], segment.packed_end());
      part.extents.push_back({segment.file + (at - segment.packed), end - at});
      at = end;
    }
  }
  part.first_extent.push_back(static_cast<std::uint32_t>(part.extents.size()));
}

}  // namespace

Inbox make_inbox(const Layout& layout, std::uint32_t domain, int relay, const RankDeclaration& pieces) {
  Inbox inbox;
  inbox.relay = relay;
  inbox.pieces.variables = pieces.variables;
  const std::vector<Extent> within = shapes_within(pieces, file_range(layout, layout.domains[domain]));
  for (std::size_t s = 0; s < within.size(); ++s) {
    const PieceList* one[] = {&pieces.shapes[s]};
    inbox.pieces.shapes.push_back(PieceList::union_of(one, within[s]));
  }
  inbox.route = Route::of(inbox.pieces, layout).part(layout.domains[domain]);
  return inbox;
}

DomainPart make_domain_part(const Layout& layout, std::uint32_t domain, std::span<const Neighbour> neighbours,
                            std::vector<Inbox> inboxes) {
  DomainPart part;
  part.domain = domain;
  part.inboxes = std::move(inboxes);
  const Domain& own = layout.domains[domain];
  part.arrivals.assign(own.windows, 0);
  std::uint64_t declared = 0;
  for (const Neighbour& neighbour : neighbours) {
    const auto edges = neighbour.route->edges_of(own);
    for (const Edge& edge : edges) {
      ++part.arrivals[edge.window - own.first_window];
      declared += edge.bytes;
    }
    if (!edges.empty()) part.local_ranks.push_back(neighbour.rank);
  }
  for (const Inbox& inbox : part.inboxes)
    for (const Edge& edge : inbox.route.edges) declared += edge.bytes;
  if (layout.direction == Direction::read) {
    whole_segments(layout, own, part);
    return part;
  }
  std::vector<const RankDeclaration*> all;
  for (const Neighbour& neighbour : neighbours) all.push_back(neighbour.declaration);
  for (const Inbox& inbox : part.inboxes) all.push_back(&inbox.pieces);
  const std::vector<Extent> whole = declared_extents(all, file_range(layout, own));
  std::uint64_t written = 0;
  for (const Extent& extent : whole) written += extent.length;
  part.overlap = written != declared;
  cut_by_window(layout, own, whole, part);
  return part;
}

std::vector<RelayPart> make_relay_parts(const Layout& layout, const NodeMap& nodes, int rank, const NodePart& node,
                                        std::span<const Neighbour> neighbours) {
  std::vector<RelayPart> parts;
  for (std::uint32_t d = 0; d < layout.domains.size(); ++d) {
    if (!relays(layout, nodes, rank, d)) continue;
    RelayPart part;
    part.domain = d;
    const auto through = node.route.edges_of(layout.domains[d]);
    part.arrivals.assign(through.size(), 0);
    for (const Neighbour& neighbour : neighbours) {
      std::size_t place = 0;
      const auto edges = neighbour.route->edges_of(layout.domains[d]);
      for (const Edge& edge : edges) {
        while (through[place].window != edge.window) ++place;
        ++part.arrivals[place];
      }
      if (!edges.empty()) part.local_ranks.push_back(neighbour.rank);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

namespace {

/// A piece that a variable would like to have.
struct Claim {
  std::uint64_t offset, length, memory;
  std::size_t variable;
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + length; }
};

/// The claims of a rank's variables and, as those of one variable more, what is taken, in the order of the file.
std::vector<Claim> claims_of(const RankDeclaration& declaration, std::span<const RankDeclaration> stronger) {
  std::vector<Claim> claims;
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (std::size_t v = 0; v < declaration.variables.size(); ++v) {
    const std::uint64_t at = declaration.variables[v].at;
    declaration.pieces(v).for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
      claims.push_back({offset + at, length, memory, v});
      begin = std::min(begin, offset + at);
      end = std::max(end, offset + at + length);
    });
  }
  std::vector<Extent> taken;
  for (const RankDeclaration& other : stronger)
    for (const auto& variable : other.variables)
      other.shapes[static_cast<std::size_t>(variable.shape)].for_each(
          begin > variable.at ? begin - variable.at : 0, end > variable.at ? end - variable.at : 0,
          [&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
            taken.push_back({offset + variable.at, length});
          });
  normalise(taken);
  for (const Extent& extent : taken)
    claims.push_back({extent.offset, extent.length, 0, declaration.variables.size()});
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) { return a.offset < b.offset; });
  return claims;
}

/// Calls `grant(claim, from, to)` in the order of the file for each stretch that the strongest of its claims gets whole.
template <class Grant>
void settle(const std::vector<Claim>& claims, Grant&& grant) {
  const auto weaker = [&](std::size_t a, std::size_t b) { return claims[a].variable < claims[b].variable; };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(weaker)> live{weaker};
  std::size_t next = 0, granted = 0;
  std::uint64_t from = 0, to = 0;
  while (true) {
    while (!live.empty() && claims[live.top()].end() <= to) live.pop();
    if (live.empty() && next == claims.size()) break;
    std::uint64_t begin = live.empty() ? claims[next].offset : to;
    while (next < claims.size() && claims[next].offset <= begin) live.push(next++);
    const std::size_t top = live.top();
    if (top != granted || begin != to) {
      if (to > from) grant(claims[granted], from, to);
      granted = top;
      from = begin;
    }
    to = claims[top].end();
    if (next < claims.size()) to = std::min(to, claims[next].offset);
  }
  if (to > from) grant(claims[granted], from, to);
}

}  // namespace

RankDeclaration without_overlaps(const RankDeclaration& declaration, std::span<const RankDeclaration> stronger) {
  RankDeclaration result;
  result.shapes.resize(declaration.variables.size());
  settle(claims_of(declaration, stronger), [&](const Claim& claim, std::uint64_t from, std::uint64_t to) {
    if (claim.variable < result.shapes.size())
      result.shapes[claim.variable].append(from, to - from, claim.memory + (from - claim.offset));
  });
  for (int v = 0; v < static_cast<int>(result.shapes.size()); ++v) {
    result.shapes[static_cast<std::size_t>(v)].shrink();
    result.variables.push_back({v, 0});
    result.memory.push_back({declaration.memory[declaration.variables[v].shape].bytes, {}});
  }
  return result;
}

namespace {

/// Whether the footprints alone prove that no byte is declared twice.
bool surely_disjoint(std::span<const Footprint> footprints) {
  std::vector<Extent> all;
  for (const Footprint& footprint : footprints)
    for (const Footprint::Entry& entry : footprint.entries) {
      if (!entry.dense()) return false;
      all.push_back({entry.offset, entry.span});
    }
  std::sort(all.begin(), all.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  return std::adjacent_find(all.begin(), all.end(),
                            [](const Extent& a, const Extent& b) { return a.end() > b.offset; }) == all.end();
}

/// With the traffic of this step known, aggregation may turn out slower than every rank for itself.
struct DirectAfterAll {
  std::string why;
  double seconds = 0;
};
std::optional<DirectAfterAll> why_direct_after_all(const Layout& layout, std::span<const Footprint> footprints,
                                                   const Demand& demand, const PlanRequest& request) {
  const Placement& placement = layout.placement;
  if (!request.trusts_figures || request.limits.mode != PlanLimits::Prefer::any || placement.remote ||
      placement.predicted_s <= 0 || !demand.storage.shared || demand.nodes->nodes() == 1 || request.files.divided())
    return {};
  if (request.direction == Direction::write) {
    // Where blocks are locked, writers of parts of one wait for one another.
    const bool locks = demand.storage.file_system == "lustre" || demand.storage.file_system == "gpfs";
    if (locks && demand.bytes < demand.pieces * placement.alignment) return {};
    if (!surely_disjoint(footprints)) return {};
  }
  std::uint32_t rounds = 0;
  for (const Domain& domain : layout.domains) rounds = std::max(rounds, domain.windows);
  const double aggregated = placement.predicted_s + rounds * round_s(*request.machine);
  const double direct = direct_s(*request.machine, demand);
  if (direct >= aggregated) return {};
  return DirectAfterAll{
      fmt::format("direct: with the traffic of this step aggregation takes {}, every rank for itself {}",
                  format_seconds(aggregated), format_seconds(direct)),
      direct};
}

}  // namespace

Result<Layout> plan_layout(std::span<const Footprint> footprints, std::span<const std::uint64_t> declaration_hashes,
                   const PlanRequest& request) {
  const Demand demand = demand_of(footprints, request.direction, *request.nodes, request.storage);
  Placement placement = request.model->place(demand, request.limits);
  const auto aggregate = [&](const char* reason) {
    PlanLimits limits = request.limits;
    limits.mode = PlanLimits::Prefer::aggregate;
    placement = request.model->place(demand, limits);
    placement.why += fmt::format(" (not direct: {})", reason);
  };
  if (placement.mode == Mode::direct && request.direction == Direction::write && !surely_disjoint(footprints))
    aggregate("pieces of several ranks may overlap");
  if (placement.mode == Mode::direct && !request.files.holder_of.empty() && request.nodes->nodes() > 1)
    aggregate("the data lies on storage of several nodes");
  if (request.limits.remote == PlanLimits::Remote::must && placement.mode == Mode::aggregate && !placement.remote) {
    placement.remote = true;
    placement.why += "; in three phases through remote memory, as memory.tier asks";
  }
  Layout layout = make_layout(footprints, demand, placement, request.files);
  ElectionRules rules = request.rules;
  rules.may_use_servers = request.limits.remote == PlanLimits::Remote::may;
  if (request.machine && !layout.domains.empty())
    if (Status status = !request.files.divided()
                            ? elect_aggregators(layout, footprints, *request.nodes, *request.machine, rules)
                            : keep_aggregators(layout, footprints, *request.nodes, *request.machine, rules,
                                               "aggregators stay on the nodes of their sub-files");
        !status.ok())
      return status;
  if (request.machine && !request.trusts_figures && request.nodes->nodes() > 1)
    layout.placement.why +=
        "; by a rule of thumb, as nobody has measured the storage (`weir machine --calibrate` does)";
  if (request.machine && !layout.domains.empty())
    if (auto after_all = why_direct_after_all(layout, footprints, demand, request)) {
      PlanLimits limits = request.limits;
      limits.mode = PlanLimits::Prefer::direct;
      placement = request.model->place(demand, limits);
      placement.why = std::move(after_all->why);
      placement.predicted_s = after_all->seconds;
      layout = make_layout(footprints, demand, placement, request.files);
    }
  Writer content;
  layout.write(content);
  layout.hash = XXH3_64bits_withSeed(declaration_hashes.data(), declaration_hashes.size_bytes(),
                                     XXH3_64bits(content.data().data(), content.data().size()));
  return layout;
}

namespace {

std::vector<Neighbour> neighbours_on(const NodeMap& nodes, int node, const std::vector<RankPlan>& plans) {
  std::vector<Neighbour> neighbours;
  for (const int rank : nodes.ranks_on[static_cast<std::size_t>(node)])
    neighbours.push_back({rank, &plans[rank].declaration, &plans[rank].route});
  return neighbours;
}

bool make_parts(std::vector<RankPlan>& plans, const PlanRequest& request) {
  const NodeMap& nodes = *request.nodes;
  const Layout& layout = plans.front().layout;
  std::vector<RankDeclaration> unions;
  bool overlap = false;
  for (int node = 0; node < nodes.nodes() && nodes.nodes() > 1; ++node) {
    const std::vector<Neighbour> neighbours = neighbours_on(nodes, node, plans);
    unions.push_back(node_union(neighbours));
    overlap = overlap || (layout.direction == Direction::write && hides_overlap(neighbours, unions.back()));
  }
  for (int rank = 0; rank < nodes.ranks(); ++rank) {
    RankPlan& plan = plans[rank];
    const int node = nodes.node_of[rank];
    const std::vector<Neighbour> neighbours = neighbours_on(nodes, node, plans);
    if (nodes.nodes() > 1) {
      plan.node = make_node_part(unions[node], layout, plan.declaration);
      plan.relays = make_relay_parts(layout, nodes, rank, *plan.node, neighbours);
    }
    if (const auto domain = domain_of_rank(layout, rank)) {
      std::vector<Inbox> inboxes;
      for (int other = 0; other < nodes.nodes(); ++other)
        if (other != node) inboxes.push_back(make_inbox(layout, *domain, relay_rank(nodes, other, *domain), unions[other]));
      plan.domain = make_domain_part(layout, *domain, neighbours, std::move(inboxes));
      overlap = overlap || plan.domain->overlap;
    }
  }
  return overlap;
}

void lay_out(std::vector<RankPlan>& plans, const PlanRequest& request) {
  std::vector<Footprint> footprints;
  std::vector<std::uint64_t> hashes;
  for (const RankPlan& plan : plans) {
    footprints.push_back(Footprint::of(plan.declaration, footprint_limit(request.nodes->ranks()), request.files));
    hashes.push_back(plan.declaration.hash());
  }
  const Layout layout = plan_layout(footprints, hashes, request).value();
  for (RankPlan& plan : plans) {
    plan.layout = layout;
    if (layout.placement.mode == Mode::aggregate) plan.route = Route::of(plan.declaration, layout);
  }
}

}  // namespace

std::vector<RankPlan> plan_all(std::vector<RankDeclaration> declarations, const PlanRequest& request) {
  std::vector<RankPlan> plans(declarations.size());
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    plans[rank].declaration = std::move(declarations[rank]);
    plans[rank].variable_bytes = plans[rank].declaration.variable_bytes();
  }
  lay_out(plans, request);
  if (plans.front().layout.placement.mode == Mode::direct || !make_parts(plans, request)) return plans;
  std::vector<RankDeclaration> stronger;
  for (std::size_t rank = plans.size(); rank-- > 0;) {
    RankDeclaration whole = plans[rank].declaration;
    plans[rank].declaration = without_overlaps(whole, stronger);
    stronger.push_back(std::move(whole));
  }
  lay_out(plans, request);
  make_parts(plans, request);
  return plans;
}

}  // namespace weir

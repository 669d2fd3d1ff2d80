#include "plan/plan.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "core/units.hpp"

namespace weir {

std::uint64_t DomainPart::list_bytes() const {
  std::uint64_t total = extents.capacity() * sizeof(Extent) +
                        (first_extent.capacity() + arrivals.capacity()) * sizeof(std::uint32_t);
  for (const Inbox& inbox : inboxes) total += inbox.pieces.list_bytes() + inbox.route.list_bytes();
  return total;
}

std::uint64_t NodePart::list_bytes() const {
  std::uint64_t total = pieces.list_bytes() + route.list_bytes();
  for (const PieceList& list : mine) total += list.list_bytes();
  return total;
}

std::uint64_t RankPlan::list_bytes() const {
  std::uint64_t total = layout.list_bytes() + declaration.list_bytes() + route.list_bytes() +
                        variable_bytes.capacity() * sizeof(std::uint64_t);
  if (domain) total += domain->list_bytes();
  if (node) total += node->list_bytes();
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
  return nodes.node_of[static_cast<std::size_t>(layout.domains[domain].aggregator)] != node &&
         relay_rank(nodes, node, domain) == rank;
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
  NodePart part{pieces, Route::of(pieces, layout), {}};
  for (std::size_t s = 0; s < mine.shapes.size(); ++s) {
    PieceList packed;
    mine.shapes[s].for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
      packed.append(pieces.shapes[s].bytes_before(offset), length, memory);
    });
    part.mine.push_back(std::move(packed));
  }
  return part;
}

namespace {

struct WindowSpan {
  std::uint32_t first, end;
  [[nodiscard]] bool holds(std::uint32_t window) const { return window >= first && window < end; }
};

WindowSpan windows_of(const Domain& domain) { return {domain.first_window, domain.first_window + domain.windows}; }

/// Everything that is declared inside a file range, merged.
std::vector<Extent> declared_extents(std::span<const RankDeclaration* const> declarations, Extent range) {
  std::vector<Extent> extents;
  const RankDeclaration& outline = *declarations.front();
  std::vector<std::optional<PieceList>> unions(outline.shapes.size());
  for (const auto& variable : outline.variables) {
    if (range.end() <= variable.at) continue;
    auto& merged = unions[static_cast<std::size_t>(variable.shape)];
    if (!merged) {
      std::vector<const PieceList*> lists;
      for (const RankDeclaration* declaration : declarations) lists.push_back(&declaration->shapes[variable.shape]);
      merged = PieceList::union_of(lists);
    }
    merged->for_each(range.offset > variable.at ? range.offset - variable.at : 0, range.end() - variable.at,
                     [&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
                       extents.push_back({offset + variable.at, length});
                     });
  }
  normalise(extents);
  return extents;
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

DomainPart make_domain_part(const Layout& layout, std::uint32_t domain, std::span<const Neighbour> neighbours,
                            std::vector<Inbox> inboxes) {
  DomainPart part;
  part.domain = domain;
  part.inboxes = std::move(inboxes);
  const Domain& own = layout.domains[domain];
  const WindowSpan windows = windows_of(own);
  part.arrivals.assign(own.windows, 0);
  std::uint64_t declared = 0;
  for (const Neighbour& neighbour : neighbours) {
    bool takes_part = false;
    for (const Edge& edge : neighbour.route->edges)
      if (windows.holds(edge.window)) {
        ++part.arrivals[edge.window - windows.first];
        declared += edge.bytes;
        takes_part = true;
      }
    if (takes_part) part.local_ranks.push_back(neighbour.rank);
  }
  if (layout.direction == Direction::read) {
    whole_segments(layout, own, part);
    return part;
  }
  std::vector<const RankDeclaration*> all;
  for (const Neighbour& neighbour : neighbours) all.push_back(neighbour.declaration);
  for (const Inbox& inbox : part.inboxes) {
    all.push_back(&inbox.pieces);
    for (const Edge& edge : inbox.route.edges)
      if (windows.holds(edge.window)) declared += edge.bytes;
  }
  const std::uint64_t low = layout.to_file(layout.cuts[windows.first]);
  const std::uint64_t high = layout.to_file(layout.cuts[windows.end] - 1) + 1;
  const std::vector<Extent> whole = declared_extents(all, {low, high - low});
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
    part.arrivals.assign(node.route.edges.size(), 0);
    const WindowSpan windows = windows_of(layout.domains[d]);
    for (const Neighbour& neighbour : neighbours) {
      bool takes_part = false;
      for (const Edge& edge : neighbour.route->edges)
        if (windows.holds(edge.window)) {
          ++part.arrivals[static_cast<std::size_t>(node.route.find(edge.window) - node.route.edges.data())];
          takes_part = true;
        }
      if (takes_part) part.local_ranks.push_back(neighbour.rank);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

RankDeclaration without_overlaps(const RankDeclaration& declaration, std::span<const RankDeclaration> stronger) {
  std::vector<Extent> taken;
  for (const RankDeclaration& other : stronger)
    for (std::size_t v = 0; v < other.variables.size(); ++v)
      other.pieces(v).for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
        taken.push_back({offset + other.variables[v].at, length});
      });
  RankDeclaration result;
  result.shapes.resize(declaration.variables.size());
  for (std::size_t v = declaration.variables.size(); v-- > 0;) {
    normalise(taken);
    const std::uint64_t at = declaration.variables[v].at;
    std::vector<Extent> own;
    std::size_t next = 0;
    declaration.pieces(v).for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
      std::uint64_t from = offset + at;
      const std::uint64_t end = from + length;
      own.push_back({from, length});
      while (next < taken.size() && taken[next].end() <= from) ++next;
      std::size_t t = next;
      while (from < end) {
        const std::uint64_t until = t < taken.size() ? std::min(end, std::max(from, taken[t].offset)) : end;
        if (until > from) result.shapes[v].append(from, until - from, memory + (from - offset - at));
        if (t == taken.size()) break;
        from = std::max(until, std::min(end, taken[t++].end()));
      }
    });
    taken.insert(taken.end(), own.begin(), own.end());
  }
  for (int v = 0; v < static_cast<int>(result.shapes.size()); ++v) {
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

}  // namespace

Layout plan_layout(std::span<const Footprint> footprints, std::span<const std::uint64_t> declaration_hashes,
                   const PlanRequest& request) {
  const Demand demand = demand_of(footprints, request.direction, *request.nodes, request.storage);
  Placement placement = request.model->place(demand, request.limits);
  if (placement.mode == Mode::direct && request.direction == Direction::write && !surely_disjoint(footprints)) {
    PlanLimits limits = request.limits;
    limits.mode = PlanLimits::Prefer::aggregate;
    placement = request.model->place(demand, limits);
    placement.why += " (not direct: pieces of several ranks may overlap)";
  }
  Layout layout = make_layout(footprints, demand, placement);
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
  std::vector<Route> union_routes;
  bool overlap = false;
  for (int node = 0; node < nodes.nodes() && nodes.nodes() > 1; ++node) {
    const std::vector<Neighbour> neighbours = neighbours_on(nodes, node, plans);
    unions.push_back(node_union(neighbours));
    union_routes.push_back(Route::of(unions.back(), layout));
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
        if (other != node) inboxes.push_back({relay_rank(nodes, other, *domain), unions[other], union_routes[other]});
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
    footprints.push_back(Footprint::of(plan.declaration, footprint_limit(request.nodes->ranks())));
    hashes.push_back(plan.declaration.hash());
  }
  const Layout layout = plan_layout(footprints, hashes, request);
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

std::string plan_text(const Layout& layout, const NodeMap& nodes) {
  std::string text = fmt::format("plan {:016x} {} {} ranks {} nodes {} bytes {} pieces {}\n", layout.hash,
                                 layout.direction == Direction::write ? "write" : "read",
                                 layout.placement.mode == Mode::direct ? "direct" : "aggregate", nodes.ranks(),
                                 nodes.nodes(), layout.bytes, layout.pieces);
  for (const Segment& segment : layout.segments)
    text += fmt::format("segment {} {}\n", segment.file, segment.span);
  for (std::size_t d = 0; d < layout.domains.size(); ++d) {
    const Domain& domain = layout.domains[d];
    text += fmt::format("domain {} rank {} node {} buffers {} of {}\n", d, domain.aggregator,
                        nodes.node_of[domain.aggregator], layout.placement.buffers, layout.placement.buffer_size);
    for (std::uint32_t w = domain.first_window; w < domain.first_window + domain.windows; ++w) {
      const Extent range = layout.window_file_range(w);
      text += fmt::format("  window {} from {} to {}\n", w, range.offset, range.end());
    }
  }
  return text;
}

std::string explain_plan(const Layout& layout, const NodeMap& nodes) {
  std::string text = fmt::format("{} {} in {} piece{} from {} rank{} on {} node{}\n",
                                 layout.direction == Direction::write ? "writes" : "reads", format_bytes(layout.bytes),
                                 layout.pieces, layout.pieces == 1 ? "" : "s", nodes.ranks(),
                                 nodes.ranks() == 1 ? "" : "s", nodes.nodes(), nodes.nodes() == 1 ? "" : "s");
  text += fmt::format("{}\n", layout.placement.why);
  constexpr std::size_t shown = 8;
  for (std::size_t d = 0; d < std::min(layout.domains.size(), shown); ++d) {
    const Domain& domain = layout.domains[d];
    const std::uint64_t low = layout.cuts[domain.first_window];
    const std::uint64_t high = layout.cuts[domain.first_window + domain.windows];
    text += fmt::format("  rank {} (node {}): bytes {} to {}, {} in {} round{}\n", domain.aggregator,
                        nodes.node_of[domain.aggregator], layout.to_file(low), layout.to_file(high - 1) + 1,
                        format_bytes(high - low), domain.windows, domain.windows == 1 ? "" : "s");
  }
  if (layout.domains.size() > shown) text += fmt::format("  and {} more aggregators\n", layout.domains.size() - shown);
  return text;
}

}  // namespace weir

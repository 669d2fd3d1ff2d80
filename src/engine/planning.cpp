#include "engine/planning.hpp"

#include <fmt/format.h>

#include <functional>

#include "core/errors.hpp"
#include "engine/context.hpp"

namespace weir {

namespace {

/// Runs local work between two collective calls; what goes wrong becomes this rank's part of the next agreement.
template <class Work>
void attempt(Outcome& outcome, int rank, Work&& work) noexcept {
  if (outcome.code == 0) outcome.fail(weir::attempt("make a plan", work), rank);
}

struct Announcement {
  std::uint64_t outline = 0, shapes = 0, variables = 0, hash = 0;
  Footprint footprint;
  StorageTraits storage;

  void write(Writer& out) const {
    for (const std::uint64_t value : {outline, shapes, variables, hash, footprint.bytes, footprint.pieces}) out.put(value);
    out.put(footprint.entries);
    out.put(storage.kind);
    out.put(storage.file_system);
    out.put(storage.block);
    out.put(storage.stripe);
    out.put(storage.local);
    out.put(storage.shared);
  }
  /// How many bytes of a blob the announcement at its beginning has.
  static std::uint64_t size(std::span<const std::byte> blob) {
    Reader in{blob};
    in.get<std::array<std::uint64_t, 6>>();
    in.vector<Footprint::Entry>();
    in.text();
    in.text();
    in.get<std::array<std::byte, 2 * sizeof(std::uint64_t) + 2 * sizeof(bool)>>();
    return in.position();
  }
  static Announcement read(std::span<const std::byte> blob) {
    Reader in{blob};
    Announcement a;
    for (std::uint64_t* value : {&a.outline, &a.shapes, &a.variables, &a.hash, &a.footprint.bytes, &a.footprint.pieces})
      *value = in.get<std::uint64_t>();
    a.footprint.entries = in.vector<Footprint::Entry>();
    a.storage.kind = in.text();
    a.storage.file_system = in.text();
    a.storage.block = in.get<std::uint64_t>();
    a.storage.stripe = in.get<std::uint64_t>();
    a.storage.local = in.get<bool>();
    a.storage.shared = in.get<bool>();
    return a;
  }
};

Status check_outlines(const std::vector<Announcement>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const Announcement &first = all[0], &here = all[rank];
    if (here.variables != first.variables || here.shapes != first.shapes)
      return problem(Code::mismatch,
                     fmt::format("cannot declare: rank 0 has {} variables over {} decompositions, rank {} has {} over {}",
                                 first.variables, first.shapes, rank, here.variables, here.shapes),
                     "declare the same variables on every rank; a rank with no part in one gives it no pieces");
    if (here.outline != first.outline)
      return problem(Code::mismatch,
                     fmt::format("cannot declare: rank {} places a variable differently than rank 0", rank),
                     "a variable has the same decomposition and place on every rank; only the pieces differ");
  }
  return {};
}

using Blobs = std::vector<std::span<const std::byte>>;

/// Node unions for the nodes whose aggregators need them, by node.
std::vector<std::vector<std::byte>> unions_to_send(const Layout& layout, const NodeMap& nodes, int node,
                                                   const RankDeclaration& pieces) {
  std::vector<std::vector<std::byte>> to(nodes.ranks_on.size());
  Writer blob;
  blob.put(node);
  pieces.write(blob);
  const Route route = Route::of(pieces, layout);
  for (const Edge& edge : route.edges) {
    const int there = nodes.node_of[layout.domains[layout.domain_of(edge.window)].aggregator];
    if (there != node && to[there].empty()) to[there] = blob.data();
  }
  return to;
}

/// The ranks of this node, as they announced themselves.
struct Mates {
  std::vector<RankDeclaration> declarations;
  std::vector<Route> routes;
  std::vector<Neighbour> neighbours;

  void read(const Team& team, const Blobs& blobs, const Layout& layout) {
    const auto& ranks = team.nodes().ranks_on[team.node()];
    for (const int rank : ranks) {
      Reader in{blobs[rank]};
      declarations.push_back(RankDeclaration::read(in));
      routes.push_back(Route::of(declarations.back(), layout));
    }
    for (std::size_t i = 0; i < ranks.size(); ++i) neighbours.push_back({ranks[i], &declarations[i], &routes[i]});
  }
};

/// For a step through remote memory: the pieces of each rank of this node in each domain of another one, and where they
/// begin in the rank's dump.
void add_sources(const Layout& layout, const NodeMap& nodes, int node, std::span<const Neighbour> neighbours,
                 std::vector<std::vector<std::byte>>& to) {
  for (std::uint32_t d = 0; d < layout.domains.size(); ++d) {
    const int there = nodes.node_of[static_cast<std::size_t>(layout.domains[d].aggregator)];
    if (there == node) continue;
    for (const Neighbour& neighbour : neighbours) {
      const Source source = make_source(layout, d, neighbour.rank, *neighbour.declaration);
      if (source.places.empty()) continue;
      Writer out;
      out.put(d);
      out.put(neighbour.rank);
      out.put(source.places.front());
      source.inbox.pieces.write(out);
      to[static_cast<std::size_t>(there)].insert(to[static_cast<std::size_t>(there)].end(), out.data().begin(),
                                                 out.data().end());
    }
  }
}

void read_sources(const Layout& layout, std::uint32_t domain, Reader& in, std::vector<Source>& sources) {
  while (in.ok() && !in.at_end()) {
    const auto d = in.get<std::uint32_t>();
    const int rank = in.get<int>();
    const auto place = in.get<std::uint64_t>();
    const RankDeclaration pieces = RankDeclaration::read(in);
    if (d == domain) sources.push_back(make_source(layout, domain, rank, pieces, place));
  }
}

/// Those of other nodes, which are known, and of this one, in the order of their ranks.
std::vector<Source> find_sources(const Layout& layout, std::uint32_t domain, std::span<const Neighbour> neighbours,
                                 std::vector<Source> sources) {
  for (const Neighbour& neighbour : neighbours)
    if (Source source = make_source(layout, domain, neighbour.rank, *neighbour.declaration); !source.places.empty())
      sources.push_back(std::move(source));
  std::ranges::sort(sources, {}, &Source::rank);
  return sources;
}

/// What a rank needs to know of other nodes: their pieces in its domain, and its own node's as they see them.
Status between_nodes(Team& team, Outcome& outcome, RankPlan& plan, const Mates& mates, std::vector<Inbox>& inboxes,
                     std::vector<Source>& sources) {
  const NodeMap& nodes = team.nodes();
  const bool direct = plan.layout.placement.mode == Mode::direct;  // then all there is to do is to keep step
  RankDeclaration together;
  std::vector<std::vector<std::byte>> to;
  attempt(outcome, team.rank(), [&]() -> Status {
    if (direct || !team.leader()) return to.resize(team.leader() ? nodes.ranks_on.size() : 0), Status{};
    together = node_union(mates.neighbours);
    if (plan.layout.direction == Direction::write && hides_overlap(mates.neighbours, together)) outcome.most = 1;
    to = unions_to_send(plan.layout, nodes, team.node(), together);
    if (plan.layout.placement.remote) add_sources(plan.layout, nodes, team.node(), mates.neighbours, to);
    return {};
  });
  const auto from = team.exchange_between_nodes(to, outcome);
  Writer joined;
  attempt(outcome, team.rank(), [&]() -> Status {
    if (!team.leader()) return {};
    together.write(joined);
    for (const auto& blob : from) joined.put(blob);
    return {};
  });
  auto shared = team.share_in_node(joined.data(), outcome);
  if (!shared) return shared.status();
  attempt(outcome, team.rank(), [&]() -> Status {
    if (direct) return {};
    Reader in{*shared};
    plan.node = make_node_part(RankDeclaration::read(in), plan.layout, plan.declaration);
    plan.relays = make_relay_parts(plan.layout, nodes, team.rank(), *plan.node, mates.neighbours);
    const auto domain = domain_of_rank(plan.layout, team.rank());
    while (domain && in.ok() && !in.at_end()) {
      const auto blob = in.vector<std::byte>();
      if (blob.empty()) continue;
      Reader inner{blob};
      const int node = inner.get<int>();
      inboxes.push_back(
          make_inbox(plan.layout, *domain, relay_rank(nodes, node, *domain), RankDeclaration::read(inner)));
      read_sources(plan.layout, *domain, inner, sources);
    }
    return {};
  });
  return {};
}

/// Where the declarations of this node's ranks are found, by rank, when a rank needs them.
using FindBlobs = std::function<Result<Blobs>()>;

Status make_own_part(Team& team, Result<RankDeclaration>& declaration, std::span<const std::byte> layout,
                     const FindBlobs& find_blobs, const PlanningHooks& hooks, RankPlan& plan) {
  Outcome outcome = hooks.outcome;
  outcome.most = 0;
  Mates mates;
  std::vector<Inbox> inboxes;
  std::vector<Source> sources;
  const bool several = team.nodes().nodes() > 1;
  attempt(outcome, team.rank(), [&]() -> Status {
    Reader in{layout};
    plan.layout = Layout::read(in);
    plan.declaration = std::move(*declaration);
    plan.variable_bytes = plan.declaration.variable_bytes();
    plan.echoes = std::ranges::any_of(plan.declaration.memory, [](const auto& memory) { return !memory.echoes.empty(); });
    if (plan.layout.placement.mode == Mode::direct) return {};
    plan.route = Route::of(plan.declaration, plan.layout);
    if (!several && !domain_of_rank(plan.layout, team.rank())) return {};
    auto blobs = find_blobs();
    if (!blobs) return blobs.status();
    return mates.read(team, *blobs, plan.layout), Status{};
  });
  // Also for a direct plan: a rank that could not read the layout does not know that it is one, and all must keep step.
  if (several)
    if (Status status = between_nodes(team, outcome, plan, mates, inboxes, sources); !status.ok()) return status;
  attempt(outcome, team.rank(), [&]() -> Status {
    const auto domain = domain_of_rank(plan.layout, team.rank());
    if (plan.layout.placement.remote) {
      plan.remote = make_remote_part(plan.layout, plan.declaration);
      if (domain) plan.remote->sources = find_sources(plan.layout, *domain, mates.neighbours, std::move(sources));
    }
    if (domain && plan.layout.placement.mode != Mode::direct)
      plan.domain = make_domain_part(plan.layout, *domain, mates.neighbours, std::move(inboxes));
    hooks.ready(outcome);
    return {};
  });
  if (plan.domain && plan.domain->overlap) outcome.most = 1;
  const Outcome& all = team.agree(outcome);
  if (Status status = agreed(all); !status.ok()) return status;
  plan.overlap = all.most != 0;
  return {};
}

/// The layout, in its written form, made of the announcements of all ranks.
Result<std::vector<std::byte>> lay_out(const Team::Posts& posts, PlanRequest& request) {
  std::vector<Announcement> all;
  for (const auto& post : posts) all.push_back(Announcement::read(post));
  if (Status status = check_outlines(all); !status.ok()) return status;
  std::vector<Footprint> footprints;
  std::vector<std::uint64_t> hashes;
  for (Announcement& announcement : all) {
    footprints.push_back(std::move(announcement.footprint));
    hashes.push_back(announcement.hash);
  }
  request.storage = all[0].storage;
  Result<Layout> layout = plan_layout(footprints, hashes, request);
  if (!layout) return layout.status();
  Writer out;
  layout->write(out);
  return out.data();
}

/// What came of planning once.
enum class Planned { made, known, again };  // all ranks know the plan already; only some do, and have not told their pieces

/// Announces, lets the first rank of each node work out the layout, and makes this rank's part of it.
Result<Planned> plan_once(Team& team, Result<RankDeclaration>& declaration, PlanRequest& request,
                          const PlanningHooks& hooks, RankPlan& plan) {
  Outcome outcome = hooks.outcome;
  Writer mine;
  std::uint64_t abroad = 0;
  attempt(outcome, team.rank(), [&]() -> Status {
    if (!declaration) return declaration.status();
    Announcement{declaration->outline_hash(), declaration->shapes.size(), declaration->variables.size(),
                 declaration->hash(), Footprint::of(*declaration, footprint_limit(team.size()), request.files),
                 request.storage}
        .write(mine);
    abroad = mine.data().size();
    if (outcome.vote == 0) declaration->write(mine);
    return {};
  });
  const auto make = [&](const Team::Posts& posts, const Outcome& all) {
    return all.most != 0 ? Result<std::vector<std::byte>>{std::vector<std::byte>{}} : lay_out(posts, request);
  };
  auto shared = team.gather_and_share(mine.data(), outcome, abroad, std::ref(make));
  if (!shared) return agreed(team.result());
  if (team.result().most != 0) return team.result().vote == team.result().most ? Planned::known : Planned::again;
  PlanningHooks more = hooks;
  more.outcome.fail(shared->mine, team.rank());
  const auto find_blobs = [&]() -> Result<Blobs> {
    auto posts = team.posts(shared->slot);
    if (posts)
      for (const int rank : team.nodes().ranks_on[team.node()])
        (*posts)[rank] = (*posts)[rank].subspan(Announcement::size((*posts)[rank]));
    return posts;
  };
  if (Status status = make_own_part(team, declaration, shared->bytes, std::ref(find_blobs), more, plan); !status.ok())
    return status;
  return Planned::made;
}

}  // namespace

Status complete_plan(Team& team, Result<RankDeclaration> declaration, std::span<const std::byte> layout, RankPlan& plan) {
  PlanningHooks hooks;
  hooks.outcome.call = call_id(Call::load, 0);
  Outcome outcome = hooks.outcome;
  Writer mine;
  attempt(outcome, team.rank(), [&]() -> Status {
    if (!declaration) return declaration.status();
    return declaration->write(mine), Status{};
  });
  auto blobs = team.gather_in_node(mine.data(), outcome);
  if (!blobs) return blobs.status();
  return make_own_part(team, declaration, layout, [&] { return blobs; }, hooks, plan);
}

Result<bool> plan_together(Team& team, Result<RankDeclaration> declaration, PlanRequest request,
                           const PlanningHooks& hooks, RankPlan& plan) {
  request.nodes = &team.nodes();
  auto made = plan_once(team, declaration, request, hooks, plan);
  if (made && *made == Planned::again) {
    PlanningHooks forgetful = hooks;
    forgetful.outcome.vote = forgetful.outcome.most = 0;
    made = plan_once(team, declaration, request, forgetful, plan);
  }
  if (!made) return made.status();
  if (*made == Planned::known || !plan.overlap) return *made == Planned::made;

  const RankDeclaration declared = std::move(plan.declaration);
  plan = {};
  PlanningHooks again = hooks;
  again.outcome.vote = again.outcome.most = 0;
  Writer mine;
  attempt(again.outcome, team.rank(), [&]() -> Status { return declared.write(mine), Status{}; });
  auto blobs = team.gather(mine.data(), again.outcome);
  if (!blobs) return blobs.status();
  Result<RankDeclaration> trimmed{Status{}};
  attempt(again.outcome, team.rank(), [&]() -> Status {
    std::vector<RankDeclaration> stronger;
    for (int rank = team.rank() + 1; rank < team.size(); ++rank) {
      Reader in{(*blobs)[rank]};
      stronger.push_back(RankDeclaration::read(in));
    }
    trimmed = without_overlaps(declared, stronger);
    return {};
  });
  made = plan_once(team, trimmed, request, again, plan);
  if (!made) return made.status();
  return true;
}

}  // namespace weir

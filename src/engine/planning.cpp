#include "engine/planning.hpp"

#include <fmt/format.h>

#include <new>

#include "core/errors.hpp"

namespace weir {

namespace {

/// Runs local work between two collective calls; what it throws becomes this rank's part of the next agreement.
template <class Work>
void attempt(Outcome& outcome, int rank, Work&& work) noexcept {
  if (outcome.code != 0) return;
  try {
    outcome.fail(work(), rank);
  } catch (const std::bad_alloc&) {
    outcome.fail(problem(Code::no_memory, "cannot make a plan: out of memory", "declare fewer pieces, or boxes"), rank);
  }
}

constexpr std::uint64_t call_declare = 0x6465636c;

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

struct Told {
  RankDeclaration declaration;
  Route route;
};

Told read_told(std::span<const std::byte> blob) {
  Reader in{blob};
  Told told;
  told.declaration = RankDeclaration::read(in);
  told.route.edges = in.vector<Edge>();
  return told;
}

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

}  // namespace

Result<RankPlan> complete_plan(Team& team, Result<RankDeclaration> declaration, std::span<const std::byte> layout) {
  RankPlan plan;
  const NodeMap& nodes = team.nodes();
  Outcome outcome;
  outcome.call = call_declare;
  Writer told;
  attempt(outcome, team.rank(), [&]() -> Status {
    if (!declaration) return declaration.status();
    Reader in{layout};
    plan.layout = Layout::read(in);
    plan.declaration = std::move(*declaration);
    plan.variable_bytes = plan.declaration.variable_bytes();
    if (plan.layout.placement.mode == Mode::direct) return {};
    plan.route = Route::of(plan.declaration, plan.layout);
    plan.declaration.write(told);
    told.put(plan.route.edges);
    return {};
  });
  auto blobs = team.gather_in_node(told.data(), outcome);
  if (!blobs) return blobs.status();
  if (plan.layout.placement.mode == Mode::direct) return plan;

  std::vector<Told> mates;
  std::vector<Neighbour> neighbours;
  const auto domain = domain_of_rank(plan.layout, team.rank());
  const bool several = nodes.nodes() > 1;
  const bool relays = several && !relayed_domains(plan.layout, nodes, team.rank()).empty();
  if (domain || relays || (several && team.leader()))
    attempt(outcome, team.rank(), [&]() -> Status {
      for (const int rank : nodes.ranks_on[team.node()]) mates.push_back(read_told((*blobs)[rank]));
      for (std::size_t i = 0; i < mates.size(); ++i)
        neighbours.push_back({nodes.ranks_on[team.node()][i], &mates[i].declaration, &mates[i].route});
      return {};
    });

  std::vector<Inbox> inboxes;
  if (several) {
    RankDeclaration together;
    std::vector<std::vector<std::byte>> to;
    attempt(outcome, team.rank(), [&]() -> Status {
      if (!team.leader()) return {};
      together = node_union(neighbours);
      outcome.most = plan.layout.direction == Direction::write && hides_overlap(neighbours, together) ? 1 : 0;
      to = unions_to_send(plan.layout, nodes, team.node(), together);
      return {};
    });
    auto from = team.exchange_between_nodes(std::move(to), outcome);
    if (!from) return from.status();
    Writer joined;
    attempt(outcome, team.rank(), [&]() -> Status {
      if (!team.leader()) return {};
      together.write(joined);
      for (const auto& blob : *from) joined.put(blob);
      return {};
    });
    auto shared = team.share_in_node(joined.data(), outcome);
    if (!shared) return shared.status();
    attempt(outcome, team.rank(), [&]() -> Status {
      Reader in{*shared};
      plan.node = make_node_part(RankDeclaration::read(in), plan.layout, plan.declaration);
      plan.relays = make_relay_parts(plan.layout, nodes, team.rank(), *plan.node, neighbours);
      while (domain && in.ok() && !in.at_end()) {
        const auto blob = in.vector<std::byte>();
        if (blob.empty()) continue;
        Reader inner{blob};
        const int node = inner.get<int>();
        Inbox inbox{relay_rank(nodes, node, *domain), RankDeclaration::read(inner), {}};
        inbox.route = Route::of(inbox.pieces, plan.layout);
        inboxes.push_back(std::move(inbox));
      }
      return {};
    });
  }
  attempt(outcome, team.rank(), [&]() -> Status {
    if (domain) plan.domain = make_domain_part(plan.layout, *domain, neighbours, std::move(inboxes));
    return {};
  });
  if (plan.domain && plan.domain->overlap) outcome.most = 1;
  const Outcome& all = team.agree(outcome);
  if (all.code != 0) return status_of(all);
  plan.overlap = all.most != 0;
  team.trim();
  return plan;
}

namespace {

/// All announcements to one layout, worked out by the first rank of each node; in its written form, in shared memory.
Result<std::span<const std::byte>> lay_out_together(Team& team, Result<RankDeclaration>& declaration,
                                                    PlanRequest& request) {
  Outcome outcome;
  outcome.call = call_declare;
  Writer mine;
  attempt(outcome, team.rank(), [&]() -> Status {
    if (!declaration) return declaration.status();
    Announcement{declaration->outline_hash(), declaration->shapes.size(), declaration->variables.size(),
                 declaration->hash(), Footprint::of(*declaration, footprint_limit(team.size())), request.storage}
        .write(mine);
    return {};
  });
  auto blobs = team.gather(mine.data(), outcome);
  if (!blobs) return blobs.status();
  Writer result;
  attempt(outcome, team.rank(), [&]() -> Status {
    if (!team.leader()) return {};
    std::vector<Announcement> all;
    for (const auto& blob : *blobs) all.push_back(Announcement::read(blob));
    if (Status status = check_outlines(all); !status.ok()) return status;
    std::vector<Footprint> footprints;
    std::vector<std::uint64_t> hashes;
    for (Announcement& announcement : all) {
      footprints.push_back(std::move(announcement.footprint));
      hashes.push_back(announcement.hash);
    }
    request.storage = all[0].storage;
    plan_layout(footprints, hashes, request).write(result);
    return {};
  });
  return team.share_in_node(result.data(), outcome);
}

}  // namespace

Result<RankPlan> plan_together(Team& team, Result<RankDeclaration> declaration, PlanRequest request) {
  request.nodes = &team.nodes();
  auto layout = lay_out_together(team, declaration, request);
  if (!layout) return layout.status();
  auto plan = complete_plan(team, declaration, *layout);
  if (!plan || !plan->overlap) return plan;

  Outcome outcome;
  outcome.call = call_declare;
  Writer mine;
  attempt(outcome, team.rank(), [&]() -> Status { return declaration->write(mine), Status{}; });
  auto blobs = team.gather(mine.data(), outcome);
  if (!blobs) return blobs.status();
  Result<RankDeclaration> trimmed{Status{}};
  attempt(outcome, team.rank(), [&]() -> Status {
    std::vector<RankDeclaration> stronger;
    for (int rank = team.rank() + 1; rank < team.size(); ++rank) {
      Reader in{(*blobs)[rank]};
      stronger.push_back(RankDeclaration::read(in));
    }
    trimmed = without_overlaps(*declaration, stronger);
    return {};
  });
  if (outcome.code != 0) trimmed = status_of(outcome);
  layout = lay_out_together(team, trimmed, request);
  if (!layout) return layout.status();
  return complete_plan(team, std::move(trimmed), *layout);
}

}  // namespace weir

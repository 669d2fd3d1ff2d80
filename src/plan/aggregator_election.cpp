#include "plan/aggregator_election.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"
#include "model/bank_room.hpp"
#include "model/explanation.hpp"
#include "model/three_phases.hpp"

namespace weir {
namespace {

/// Where a domain begins and ends in the file, holes included.
std::vector<std::uint64_t> domain_starts(const Layout& layout) {
  std::vector<std::uint64_t> starts;
  for (const Domain& domain : layout.domains) starts.push_back(layout.to_file(layout.cuts[domain.first_window]));
  return starts;
}

void add_piece(DomainTraffic& domain, int node, double bytes) {
  if (domain.producers.empty() || domain.producers.back().node != node) domain.producers.push_back({node, 0});
  domain.producers.back().bytes += bytes;
  domain.bytes += bytes;
}

void merge_nodes(DomainTraffic& domain) {
  auto& all = domain.producers;
  std::ranges::stable_sort(all, {}, &Share::node);
  std::size_t kept = 0;
  for (std::size_t k = 1; k < all.size(); ++k)
    if (all[k].node == all[kept].node)
      all[kept].bytes += all[k].bytes;
    else
      all[++kept] = all[k];
  if (!all.empty()) all.resize(kept + 1);
}

void set_conditions(PlacementProblem& problem, const Layout& layout, const Machine& machine, const ElectionRules& rules) {
  problem.machine = &machine;
  problem.buffers = static_cast<int>(layout.placement.buffers);
  problem.buffer_bytes = static_cast<double>(layout.placement.buffer_size);
  problem.bank = rules.bank;
  problem.persistency = rules.persistency;
  problem.stays = rules.stays;
}

}  // namespace

void seat_aggregators(Layout& layout, const Places& places, const NodeMap& nodes) {
  std::vector<std::size_t> wanted(nodes.ranks_on.size()), seated(nodes.ranks_on.size());
  for (const Place& place : places) ++wanted[static_cast<std::size_t>(place.node)];
  for (std::size_t d = 0; d < places.size(); ++d) {
    const auto node = static_cast<std::size_t>(places[d].node);
    const auto& ranks = nodes.ranks_on[node];
    layout.domains[d].aggregator = ranks[seated[node]++ * ranks.size() / wanted[node]];
  }
  layout.placement.aggregators.clear();
  for (const Domain& domain : layout.domains) layout.placement.aggregators.push_back(domain.aggregator);
}

Traffic traffic_of(const Layout& layout, std::span<const Footprint> footprints, const NodeMap& nodes) {
  Traffic traffic(layout.domains.size());
  const std::vector<std::uint64_t> starts = domain_starts(layout);
  for (std::size_t rank = 0; rank < footprints.size(); ++rank)
    for (const Footprint::Entry& entry : footprints[rank].entries) {
      const auto after = std::ranges::upper_bound(starts, entry.offset);
      for (auto d = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, after - starts.begin()) - 1);
           d < starts.size() && starts[d] < entry.end(); ++d) {
        const std::uint64_t low = std::max(entry.offset, starts[d]);
        const std::uint64_t high = d + 1 < starts.size() ? std::min(entry.end(), starts[d + 1]) : entry.end();
        if (high > low)
          add_piece(traffic[d], nodes.node_of[rank],
              static_cast<double>(entry.bytes) * static_cast<double>(high - low) / static_cast<double>(entry.span));
      }
    }
  for (DomainTraffic& domain : traffic) merge_nodes(domain);
  return traffic;
}

namespace {

PlacementProblem problem_of(const Layout& layout, std::span<const Footprint> footprints, const NodeMap& nodes,
                            const Machine& machine, const ElectionRules& rules) {
  PlacementProblem problem;
  set_conditions(problem, layout, machine, rules);
  problem.reads = layout.direction == Direction::read;
  problem.traffic = traffic_of(layout, footprints, nodes);
  problem.job_nodes = nodes.nodes();
  // A domain of alignment alone may have nothing in it that footprints show: somebody aggregates it all the same.
  for (std::size_t d = 0; d < problem.traffic.size(); ++d)
    if (problem.traffic[d].producers.empty())
      problem.traffic[d].producers.push_back({nodes.node_of[static_cast<std::size_t>(layout.domains[d].aggregator)], 0});
  return problem;
}

void note_banks(Layout& layout, const Places& places) {
  layout.placement.banks.clear();
  for (const Place& place : places) layout.placement.banks.push_back(static_cast<std::uint32_t>(place.bank));
}

}  // namespace

Status keep_aggregators(Layout& layout, std::span<const Footprint> footprints, const NodeMap& nodes,
                        const Machine& machine, const ElectionRules& rules, const std::string& reason) {
  const PlacementProblem problem = problem_of(layout, footprints, nodes, machine, rules);
  BankRoom room{problem};
  Election election;
  for (std::size_t d = 0; d < layout.domains.size(); ++d) {
    const double bytes = problem.traffic[d].bytes;
    const int node = nodes.node_of[static_cast<std::size_t>(layout.domains[d].aggregator)];
    const int bank = room.best(node, bytes);
    if (bank < 0) return problem.fitting_banks(bytes).empty() ? no_bank(problem, bytes) : no_room(problem);
    room.take({node, bank}, bytes);
    election.places.push_back({node, bank});
  }
  const Prediction prediction = predict_from_loads(problem, election.places);
  if (!machine.banks.empty()) note_banks(layout, election.places);
  layout.placement.predicted_s = prediction.total_s;
  layout.placement.details = explain_election(problem, {"no election", reason}, election, prediction);
  return {};
}

Status elect_aggregators(Layout& layout, std::span<const Footprint> footprints, const NodeMap& nodes,
                         const Machine& machine, const ElectionRules& rules) {
  PlacementProblem problem = problem_of(layout, footprints, nodes, machine, rules);
  std::size_t smallest = nodes.ranks_on.front().size();
  for (const auto& ranks : nodes.ranks_on) smallest = std::min(smallest, ranks.size());
  const auto even = (layout.domains.size() + nodes.ranks_on.size() - 1) / nodes.ranks_on.size();
  // More domains than the smallest node has ranks stay as the rule of thumb spread them.
  if (even > smallest)
    return keep_aggregators(
        layout, footprints, nodes, machine, rules,
        "there are more aggregators than the smallest node has ranks for, so they are spread evenly");
  problem.most_per_node = static_cast<int>(even);

  Result<Election> election = elect(problem, rules.strategy);
  if (!election) return election.status();
  Prediction prediction = predict_from_loads(problem, election->places);
  const Bank* const servers = machine.server_bank();
  if (servers && (layout.placement.remote || rules.may_use_servers) &&
      !unfit_for_three_phases(*servers, problem.nodes(), static_cast<double>(layout.bytes))) {
    const Prediction through = predict_three_phases(problem, election->places, *servers, layout.direction);
    if (rules.may_use_servers) {
      layout.placement.remote = through.total_s < prediction.total_s;
      layout.placement.why += fmt::format("; with the traffic of this step two phases take {}, three {}: {}",
                                          format_seconds(prediction.total_s), format_seconds(through.total_s),
                                          layout.placement.remote ? "three phases" : "two phases");
    }
    if (layout.placement.remote) prediction = through;
  }
  seat_aggregators(layout, election->places, nodes);
  note_banks(layout, election->places);
  layout.placement.predicted_s = prediction.total_s;
  layout.placement.details = explain_election(problem, rules.strategy, *election, prediction);
  return {};
}

}  // namespace weir

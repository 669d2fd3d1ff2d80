#include "model/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/units.hpp"

namespace weir {
namespace {

constexpr std::size_t most_shown = 8;

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes + 0.5)); }

/// The candidates of one domain, cheapest first, those that could not be chosen last.
std::string explain_candidates(const PlacementProblem& problem, const Election& election, int domain) {
  std::vector<const Candidate*> all;
  for (const Candidate& candidate : election.candidates)
    if (candidate.domain == domain) all.push_back(&candidate);
  if (all.empty()) return {};
  std::ranges::stable_sort(all, {}, [](const Candidate* c) { return std::pair{!c->unfit.empty(), c->cost_s}; });
  std::string text = fmt::format("candidates for domain {}:\n", domain);
  for (std::size_t k = 0; k < std::min(most_shown, all.size()); ++k)
    text +=
        fmt::format("  {:<20} {:>9}{}\n", place_name(*problem.machine, all[k]->place), format_seconds(all[k]->cost_s),
                    !all[k]->unfit.empty()                                               ? "  out: " + all[k]->unfit
                    : all[k]->place == election.places[static_cast<std::size_t>(domain)] ? "  chosen"
                                                                                         : "");
  if (all.size() > most_shown) text += fmt::format("  and {} more\n", all.size() - most_shown);
  return text;
}

using Sums = std::map<std::string, double, std::less<>>;

std::vector<std::pair<std::string, double>> most_first(const Sums& sums) {
  std::vector<std::pair<std::string, double>> sorted{sums.begin(), sums.end()};
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& each) { return each.second; });
  return sorted;
}

std::string links_text(const std::vector<std::pair<std::string, double>>& classes) {
  std::string text = "bytes by class of link:";
  for (const auto& [link, bytes] : classes) text += fmt::format(" {} {},", link, bytes_text(bytes));
  text.back() = '\n';
  return text;
}

std::string rivals_text(const std::vector<Rival>& rivals) {
  if (rivals.empty()) return {};
  std::string text = "placements that were compared:";
  for (std::size_t k = 0; k < std::min(most_shown, rivals.size()); ++k)
    text += fmt::format(" {} {},", rivals[k].name, format_seconds(rivals[k].seconds));
  text.back() = '\n';
  return text;
}

}  // namespace

std::vector<std::pair<std::string, double>> bytes_by_link_class(const PlacementProblem& problem, const Places& places) {
  const Machine& machine = *problem.machine;
  Sums sums;
  const FlowSet flows = FlowSet::of(problem, places);
  for (const auto* set : {&flows.gather, &flows.store})
    for (const Flow& flow : *set)
      for (const int resource : flow.resources)
        if (resource < machine.links()) sums[std::string{machine.link_class(resource)}] += flow.bytes;
  return most_first(sums);
}

std::string explain_direct(const Machine& machine, const Demand& demand, double predicted_s) {
  const int nodes = demand.nodes->nodes();
  Sums sums;
  std::vector<int> path;
  for (int node = 0; node < nodes; ++node) {
    path.clear();
    demand.direction == Direction::read ? machine.route_from_storage(node, path) : machine.route_to_storage(node, path);
    for (const int link : path)
      sums[std::string{machine.link_class(link)}] += static_cast<double>(demand.bytes) / nodes;
  }
  return links_text(most_first(sums)) +
         fmt::format("predicted: {}, every rank for itself\n", format_seconds(predicted_s)) + explain_figures(machine);
}

Decision Decision::of(Strategy strategy) {
  const auto by = [&](const char* reason) { return Decision{fmt::format("model {}", name(strategy)), reason}; };
  switch (strategy) {
    case Strategy::greedy: return by("the lowest node with data of the domain");
    case Strategy::shortest_path: return by("the node with the shortest way to the storage");
    case Strategy::longest_path: return by("the node with the longest way to the storage");
    case Strategy::random: return by("chance");
    case Strategy::tapioca: return by("least C1 + C2: the slowest producer's way in, and the way to the storage");
    case Strategy::ma_tapioca:
      return by("least Cost_A + Cost_T over memory banks: all producers' ways in, and the way out");
    case Strategy::contention: break;
  }
  return by("least predicted time with the traffic of all aggregators on every link, gateway and bank");
}

std::string place_name(const Machine& machine, Place place) {
  if (machine.banks.empty()) return fmt::format("node {}", place.node);
  return fmt::format("node {} {}", place.node, machine.banks[static_cast<std::size_t>(place.bank)].name);
}

std::string explain_figures(const Machine& machine) {
  std::string text =
      fmt::format("by these figures: storage writes {}, reads {}, latency {}", format_figure(machine.storage.write),
                  format_figure(machine.storage.read), format_figure(machine.storage.latency));
  if (machine.storage.call.known()) text += fmt::format(", a call {}", format_figure(machine.storage.call));
  for (const LinkClass& link : machine.topology->classes())
    text += fmt::format("; {} {}, {}", link.name.empty() ? "link" : link.name, format_figure(link.bandwidth),
                        format_figure(link.latency));
  return text + '\n';
}

std::string explain_election(const PlacementProblem& problem, const Decision& decision, const Election& election,
                             const Prediction& prediction) {
  const Machine& machine = *problem.machine;
  const std::size_t count = election.places.size();
  std::string text =
      fmt::format("{} on {} ({}, {} node{}): {}\n", decision.who, machine.name.empty() ? "this machine" : machine.name,
                  machine.topology->kind(), machine.nodes(), machine.nodes() == 1 ? "" : "s", decision.reason);
  text += explain_candidates(problem, election, 0) + rivals_text(election.rivals);
  text += fmt::format("{} aggregator{}, {} buffer{} of {} each:\n", count, count == 1 ? "" : "s", problem.buffers,
                      problem.buffers == 1 ? "" : "s", bytes_text(problem.buffer_bytes));
  for (std::size_t d = 0; d < std::min(count, most_shown); ++d)
    text += fmt::format("  domain {:<4} {:<20} {:>9} from {} node{}\n", d, place_name(machine, election.places[d]),
                        bytes_text(problem.traffic[d].bytes), problem.traffic[d].producers.size(),
                        problem.traffic[d].producers.size() == 1 ? "" : "s");
  if (count > most_shown) text += fmt::format("  and {} more\n", count - most_shown);
  text += links_text(bytes_by_link_class(problem, election.places));
  text += fmt::format("predicted: {} in {} round{} (gathering {}, storing {}, both at once {}", 
                      format_seconds(prediction.total_s), prediction.rounds, prediction.rounds == 1 ? "" : "s",
                      format_seconds(prediction.gather_s), format_seconds(prediction.store_s),
                      format_seconds(prediction.both_s));
  if (prediction.bottleneck >= 0)
    text += fmt::format("; busiest: {}", prediction.bottleneck < machine.links()
                                             ? fmt::format("a {} link", machine.link_class(prediction.bottleneck))
                                             : "a memory bank");
  return text + ")\n" + explain_figures(machine);
}

}  // namespace weir

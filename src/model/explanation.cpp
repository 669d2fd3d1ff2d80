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
    text += fmt::format("  {:<20} {:>9}{}\n", place_name(*problem.machine, all[k]->place), format_seconds(all[k]->cost_s),
                        all[k]->unfit.empty() ? k == 0 ? "  chosen" : "" : "  out: " + all[k]->unfit);
  if (all.size() > most_shown) text += fmt::format("  and {} more\n", all.size() - most_shown);
  return text;
}

std::string what_decided(Strategy strategy) {
  switch (strategy) {
    case Strategy::greedy: return "the lowest node with data of the domain";
    case Strategy::shortest_path: return "the node with the shortest way to the storage";
    case Strategy::longest_path: return "the node with the longest way to the storage";
    case Strategy::random: return "chance";
    case Strategy::tapioca: return "least C1 + C2: the slowest producer's way in, and the way to the storage";
    case Strategy::ma_tapioca: return "least Cost_A + Cost_T over memory banks: all producers' ways in, and the way out";
    case Strategy::contention: break;
  }
  return "least predicted time with the traffic of all aggregators on every link, gateway and bank";
}

}  // namespace

std::vector<std::pair<std::string, double>> bytes_by_link_class(const PlacementProblem& problem, const Places& places) {
  const Machine& machine = *problem.machine;
  std::map<std::string, double, std::less<>> sums;
  const FlowSet flows = FlowSet::of(problem, places);
  for (const auto* set : {&flows.gather, &flows.store})
    for (const Flow& flow : *set)
      for (const int resource : flow.resources)
        if (resource < machine.links()) sums[std::string{machine.link_class(resource)}] += flow.bytes;
  std::vector<std::pair<std::string, double>> sorted{sums.begin(), sums.end()};
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& each) { return each.second; });
  return sorted;
}

std::string place_name(const Machine& machine, Place place) {
  if (machine.banks.empty()) return fmt::format("node {}", place.node);
  return fmt::format("node {} {}", place.node, machine.banks[static_cast<std::size_t>(place.bank)].name);
}

std::string explain_election(const PlacementProblem& problem, Strategy strategy, const Election& election,
                             const Prediction& prediction) {
  const Machine& machine = *problem.machine;
  const std::size_t count = election.places.size();
  std::string text = fmt::format("model {} on {} ({}, {} node{}): {}\n", name(strategy),
                                 machine.name.empty() ? "this machine" : machine.name, machine.topology->kind(),
                                 machine.nodes(), machine.nodes() == 1 ? "" : "s", what_decided(strategy));
  text += explain_candidates(problem, election, 0);
  text += fmt::format("{} aggregator{}, {} buffer{} of {} each:\n", count, count == 1 ? "" : "s", problem.buffers,
                      problem.buffers == 1 ? "" : "s", bytes_text(problem.buffer_bytes));
  for (std::size_t d = 0; d < std::min(count, most_shown); ++d)
    text += fmt::format("  domain {:<4} {:<20} {:>9} from {} node{}\n", d, place_name(machine, election.places[d]),
                        bytes_text(problem.traffic[d].bytes), problem.traffic[d].producers.size(),
                        problem.traffic[d].producers.size() == 1 ? "" : "s");
  if (count > most_shown) text += fmt::format("  and {} more\n", count - most_shown);
  text += "bytes by class of link:";
  for (const auto& [link, bytes] : bytes_by_link_class(problem, election.places))
    text += fmt::format(" {} {},", link, bytes_text(bytes));
  text.back() = '\n';
  text += fmt::format("predicted: {} in {} round{} (gathering {}, storing {}, both at once {}", 
                      format_seconds(prediction.total_s), prediction.rounds, prediction.rounds == 1 ? "" : "s",
                      format_seconds(prediction.gather_s), format_seconds(prediction.store_s),
                      format_seconds(prediction.both_s));
  if (prediction.bottleneck >= 0)
    text += fmt::format("; busiest: {}", prediction.bottleneck < machine.links()
                                             ? fmt::format("a {} link", machine.link_class(prediction.bottleneck))
                                             : "a memory bank");
  return text + ")\n";
}

}  // namespace weir

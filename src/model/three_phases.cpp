#include "model/three_phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weir {
namespace {

double most(const std::vector<double>& of_nodes) { return *std::ranges::max_element(of_nodes); }

}  // namespace

Prediction predict_three_phases(const PlacementProblem& problem, const Places& places, const Bank& bank,
                                Direction direction) {
  const Machine& machine = *problem.machine;
  std::vector<double> own(static_cast<std::size_t>(machine.nodes())), aggregated(own);
  for (std::size_t d = 0; d < places.size(); ++d) {
    for (const Share& share : problem.traffic[d].producers) own[static_cast<std::size_t>(share.node)] += share.bytes;
    aggregated[static_cast<std::size_t>(places[d].node)] += problem.traffic[d].bytes;
  }
  double network = 0;
  for (const LinkClass& each : machine.topology->classes()) network = std::max(network, each.latency.value);
  const bool writes = direction == Direction::write;
  const double latency = bank.latency.value;
  const double own_s = most(own) / (writes ? bank.write : bank.read).value + latency;
  const double aggregated_s = most(aggregated) / (writes ? bank.read : bank.write).value;
  const double meeting_s = 2 * network * std::bit_width(static_cast<unsigned>(problem.nodes() - 1));

  Prediction prediction = predict_from_loads(problem, places);
  prediction.gather_s = own_s + meeting_s + aggregated_s;
  prediction.both_s = problem.buffers > 1 ? std::max(aggregated_s, prediction.store_s) + aggregated_s / prediction.rounds
                                          : aggregated_s + prediction.store_s;
  prediction.total_s = own_s + meeting_s + prediction.both_s + prediction.rounds * latency;
  prediction.bottleneck = -1;
  return prediction;
}

std::optional<std::string> unfit_for_three_phases(const Bank& bank, int nodes, double bytes) {
  if (!bank.read.known() || !bank.write.known())
    return "its speed is not known: `weir machine --calibrate` measures it";
  if (bank.capacity.known() && bank.capacity.value * nodes < bytes)
    return fmt::format("holds {}, {} are needed", format_figure(bank.capacity.value * nodes, Unit::bytes),
                       format_figure(bytes, Unit::bytes));
  return {};
}

}  // namespace weir

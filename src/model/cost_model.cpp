#include "model/cost_model.hpp"

#include <algorithm>
#include <limits>

namespace weir {
namespace {


double write_bandwidth(const Bank* bank) { return bank && bank->write.known() ? bank->write.value : unlimited; }
double read_bandwidth(const Bank* bank) { return bank && bank->read.known() ? bank->read.value : unlimited; }

double network_latency(const Topology& topology) {
  double most = 0;
  for (const LinkClass& each : topology.classes()) most = std::max(most, each.latency.value);
  return most;
}

double bandwidth_to_storage(const Machine& machine, int node) {
  std::vector<int> links;
  machine.route_to_storage(node, links);
  double least = unlimited;
  for (const int link : links) least = std::min(least, machine.link_bandwidth(link));
  // A machine whose ways to the storage are not described has at least its network.
  if (least == unlimited)
    for (const LinkClass& each : machine.topology->classes())
      if (each.bandwidth.known()) least = std::min(least, each.bandwidth.value);
  return least;
}

}  // namespace

const Bank* source_bank(const Machine& machine) noexcept {
  const auto at = std::ranges::find(machine.banks, "dram", &Bank::kind);
  return at != machine.banks.end() ? &*at : machine.banks.empty() ? nullptr : &machine.banks.front();
}

double TapiocaModel::cost(const PlacementProblem& problem, int domain, Place place) const {
  const Machine& machine = *problem.machine;
  const Topology& topology = *machine.topology;
  const DomainTraffic& traffic = problem.traffic[static_cast<std::size_t>(domain)];
  const double latency = network_latency(topology);
  double gathering = 0;
  for (const Share& share : traffic.producers)
    gathering = std::max(gathering, latency * topology.hops(share.node, place.node) +
                                        share.bytes / topology.bandwidth(share.node, place.node));
  const double parallel = static_cast<double>(traffic.producers.size());
  return gathering + latency * machine.hops_to_storage(place.node) +
         traffic.bytes / (parallel * bandwidth_to_storage(machine, place.node));
}

double MaTapiocaModel::cost(const PlacementProblem& problem, int domain, Place place) const {
  const Machine& machine = *problem.machine;
  const Topology& topology = *machine.topology;
  const DomainTraffic& traffic = problem.traffic[static_cast<std::size_t>(domain)];
  const Bank* const source = source_bank(machine);
  const Bank* const bank = machine.banks.empty() ? nullptr : &machine.banks[static_cast<std::size_t>(place.bank)];
  const double network = network_latency(topology), own = bank ? bank->latency.value : 0;
  const double into = std::min(read_bandwidth(source), write_bandwidth(bank));
  double cost = 0;
  for (const Share& share : traffic.producers)
    cost += share.node == place.node
                ? own + share.bytes / into
                : std::max(network, own) * topology.hops(share.node, place.node) +
                      share.bytes / std::min(into, topology.bandwidth(share.node, place.node));
  return cost + network * machine.hops_to_storage(place.node) +
         traffic.bytes / std::min(read_bandwidth(bank), bandwidth_to_storage(machine, place.node));
}

}  // namespace weir

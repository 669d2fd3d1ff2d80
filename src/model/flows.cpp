#include "model/flows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/cost_model.hpp"

namespace weir {
namespace {


Flow make_flow(const Machine& machine, std::vector<int> path, double bytes) {
  const double latency = way_latency(machine, path);
  return {std::move(path), bytes, latency};
}

double longest_latency(const std::vector<Flow>& flows) {
  double most = 0;
  for (const Flow& flow : flows) most = std::max(most, flow.latency_s);
  return most;
}

std::vector<const Flow*> pointers(const std::vector<Flow>& flows) {
  std::vector<const Flow*> all;
  for (const Flow& flow : flows) all.push_back(&flow);
  return all;
}

}  // namespace

Prediction with_buffers(Prediction prediction, const PlacementProblem& problem) {
  double most = 0;
  for (const DomainTraffic& domain : problem.traffic) most = std::max(most, domain.bytes);
  if (problem.buffer_bytes > 0)
    prediction.rounds = std::max(1, static_cast<int>(std::ceil(most / problem.buffer_bytes)));
  const auto [shorter, longer] = std::minmax(prediction.gather_s, prediction.store_s);
  prediction.total_s =
      problem.buffers < 2 ? shorter + longer : std::max(prediction.both_s, longer) + shorter / prediction.rounds;
  return prediction;
}

int resources(const Machine& machine) noexcept {
  return machine.links() + machine.nodes() * static_cast<int>(machine.banks.size());
}

double resource_bandwidth(const Machine& machine, int resource) {
  if (resource < machine.links()) return machine.link_bandwidth(resource);
  const Bank& bank = machine.banks[static_cast<std::size_t>((resource - machine.links()) %
                                                            static_cast<int>(machine.banks.size()))];
  const double slower = std::min(bank.read.known() ? bank.read.value : unlimited,
                                 bank.write.known() ? bank.write.value : unlimited);
  return slower;
}

double way_latency(const Machine& machine, const std::vector<int>& path) {
  double sum = 0;
  for (const int resource : path)
    if (resource < machine.links())
      sum += machine.link_latency(resource);
    else
      sum += machine.banks[static_cast<std::size_t>((resource - machine.links()) %
                                                    static_cast<int>(machine.banks.size()))]
                 .latency.value;
  return sum;
}

void route_gather(const Machine& machine, int producer, Place place, std::vector<int>& path, bool reads) {
  machine.topology->route(reads ? place.node : producer, reads ? producer : place.node, path);
  if (!machine.banks.empty())
    path.push_back(machine.links() + place.node * static_cast<int>(machine.banks.size()) + place.bank);
}

void route_store(const Machine& machine, Place place, std::vector<int>& path, bool reads) {
  if (!machine.banks.empty())
    path.push_back(machine.links() + place.node * static_cast<int>(machine.banks.size()) + place.bank);
  reads ? machine.route_from_storage(place.node, path) : machine.route_to_storage(place.node, path);
}

FlowSet FlowSet::of(const PlacementProblem& problem, const Places& places) {
  const Machine& machine = *problem.machine;
  FlowSet set;
  for (std::size_t d = 0; d < places.size(); ++d) {
    for (const Share& share : problem.traffic[d].producers) {
      std::vector<int> path;
      route_gather(machine, share.node, places[d], path, problem.reads);
      set.gather.push_back(make_flow(machine, std::move(path), share.bytes));
    }
    std::vector<int> path;
    route_store(machine, places[d], path, problem.reads);
    set.store.push_back(make_flow(machine, std::move(path), problem.traffic[d].bytes));
  }
  return set;
}

LoadPredictor::LoadPredictor(const Machine& machine)
    : machine_{machine}, bytes_(static_cast<std::size_t>(resources(machine))) {}

void LoadPredictor::add(const std::vector<Flow>& flows) {
  for (const Flow& flow : flows)
    for (const int resource : flow.resources) {
      double& here = bytes_[static_cast<std::size_t>(resource)];
      if (here == 0) touched_.push_back(resource);
      here += flow.bytes;
    }
}

void LoadPredictor::clear() {
  for (const int resource : touched_) bytes_[static_cast<std::size_t>(resource)] = 0;
  touched_.clear();
}

double LoadPredictor::busiest_s(int& which) const {
  double most = 0;
  for (const int resource : touched_) {
    const double time = bytes_[static_cast<std::size_t>(resource)] / resource_bandwidth(machine_, resource);
    if (time > most) {
      most = time;
      which = resource;
    }
  }
  return most;
}

Prediction LoadPredictor::predict(const PlacementProblem& problem, const Places& places) {
  const FlowSet flows = FlowSet::of(problem, places);
  int which = -1;
  clear();
  add(flows.store);
  const double store_s = busiest_s(which) + longest_latency(flows.store);
  clear();
  add(flows.gather);
  const double gather_s = busiest_s(which) + longest_latency(flows.gather);
  add(flows.store);
  const double both_s = busiest_s(which);
  return with_buffers({gather_s, store_s, both_s, 0, 1, which}, problem);
}

Prediction predict_by_sharing(const PlacementProblem& problem, const Places& places) {
  const Machine& machine = *problem.machine;
  const FlowSet flows = FlowSet::of(problem, places);
  std::vector<const Flow*> all = pointers(flows.gather);
  const double gather_s = shared_finish_s(machine, all), store_s = shared_finish_s(machine, pointers(flows.store));
  for (const Flow& flow : flows.store) all.push_back(&flow);
  const int bottleneck = predict_from_loads(problem, places).bottleneck;
  return with_buffers({gather_s, store_s, shared_finish_s(machine, all), 0, 1, bottleneck}, problem);
}

}  // namespace weir

#pragma once

#include <vector>

#include "model/problem.hpp"

namespace weir {

/// Bytes that go along a list of resources: links, and banks that are written to or read from.
struct Flow {
  std::vector<int> resources;
  double bytes = 0;
  double latency_s = 0;
};

/// Everything that a placement makes move. Gathering and storing overlap when there is more than one buffer.
///
/// Resources are the machine's links and, behind them, every node's banks. Reading takes the ways from the storage to the ranks.
struct FlowSet {
  std::vector<Flow> gather;
  std::vector<Flow> store;

  static FlowSet of(const PlacementProblem& problem, const Places& places);
};

[[nodiscard]] int resources(const Machine& machine) noexcept;
/// Bytes per second; infinite where nothing is known.
[[nodiscard]] double resource_bandwidth(const Machine& machine, int resource);
/// How long an empty message takes along these resources.
[[nodiscard]] double way_latency(const Machine& machine, const std::vector<int>& resources);
/// Appends what data of a producer passes on its way to a place, and what a place's data passes on its way to storage.
/// When it reads, data passes the ways back.
void route_gather(const Machine& machine, int producer, Place place, std::vector<int>& resources, bool reads = false);
void route_store(const Machine& machine, Place place, std::vector<int>& resources, bool reads = false);

/// How long a placement takes, and why.
struct Prediction {
  double gather_s = 0;  ///< alone
  double store_s = 0;   ///< alone
  double both_s = 0;    ///< at once, sharing links
  double total_s = 0;   ///< with the first buffer filled before anything is stored
  int rounds = 1;
  int bottleneck = -1;  ///< the resource that decides, if one does
};

/// The same placement with the buffers of a problem: rounds, and the total when gathering of the first buffer and
/// storing of the last cannot overlap with anything.
Prediction with_buffers(Prediction prediction, const PlacementProblem& problem);

/// Predicts from the load of the busiest resource: cheap, and cheaper when it is used again.
class LoadPredictor {
 public:
  explicit LoadPredictor(const Machine& machine);
  Prediction predict(const PlacementProblem& problem, const Places& places);

 private:
  void add(const std::vector<Flow>& flows);
  void clear();
  double busiest_s(int& which) const;

  const Machine& machine_;
  std::vector<double> bytes_;  // by resource
  std::vector<int> touched_;   // the resources that carry anything
};
inline Prediction predict_from_loads(const PlacementProblem& problem, const Places& places) {
  return LoadPredictor{*problem.machine}.predict(problem, places);
}
/// From a simulation in which all flows start at once and share every resource fairly (max-min): exact for fluids,
/// n log n in flows for every flow that ends.
Prediction predict_by_sharing(const PlacementProblem& problem, const Places& places);

/// When the last of these flows ends, if all start at 0 and share fairly.
double shared_finish_s(const Machine& machine, const std::vector<const Flow*>& flows);

}  // namespace weir

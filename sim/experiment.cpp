#include "experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/errors.hpp"
#include "core/nearest.hpp"

namespace weir::sim {

double Assumptions::operator[](std::string_view name) const {
  return std::ranges::find(all_, name, &Assumption::name)->value;
}

Assumptions Assumptions::with(std::string_view name, double value) const {
  Assumptions changed = *this;
  std::ranges::find(changed.all_, name, &Assumption::name)->value = value;
  return changed;
}

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> table{placement_mira(),     buffers_mira(),   hacc_mira(),
                                             hacc_theta(),         array_theta(),    tiers_theta(),
                                             node_storage_theta(), psets_intrepid(), remote_memory_cooley(), library()};
  return table;
}

const Experiment& find_experiment(std::string_view name) {
  const auto at = std::ranges::find(experiments(), name, &Experiment::name);
  if (at != experiments().end()) return *at;
  std::vector<std::string> names;
  for (const Experiment& each : experiments()) names.push_back(each.name);
  throw Error{problem(
      Code::invalid, fmt::format("unknown experiment '{}'", name),
      fmt::format("did you mean '{}'? there are {}", nearest(std::string{name}, names), fmt::join(names, ", ")))};
}

std::vector<Variation> sweep(const Experiment& experiment) {
  std::vector<Variation> variations;
  for (const Assumption& assumption : experiment.assumptions.all())
    for (const double value : assumption.tried())
      variations.push_back(
          {assumption.name, value,
           experiment.run(experiment.assumptions.with(assumption.name, value), Scope::only_claims).claims});
  return variations;
}

}  // namespace weir::sim

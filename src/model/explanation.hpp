#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/election.hpp"
#include "model/placement.hpp"

namespace weir {

/// Bytes that a placement moves over each class of links, most first: "link", "bridge", "gateway", "storage", ...
std::vector<std::pair<std::string, double>> bytes_by_link_class(const PlacementProblem& problem, const Places& places);

/// "node 17 hbm"
std::string place_name(const Machine& machine, Place place);

/// Who chose, and by what: "model greedy", "the lowest node with data of the domain".
struct Decision {
  std::string who;
  std::string reason;

  static Decision of(Strategy strategy);
};

/// Candidates and what they cost, what decided, where the aggregators are, what the links carry and how long it takes.
std::string explain_election(const PlacementProblem& problem, const Decision& decision, const Election& election,
                             const Prediction& prediction);
inline std::string explain_election(const PlacementProblem& problem, Strategy strategy, const Election& election,
                                    const Prediction& prediction) {
  return explain_election(problem, Decision::of(strategy), election, prediction);
}

/// What the links carry and how long it takes when every rank moves its own pieces.
std::string explain_direct(const Machine& machine, const Demand& demand, double predicted_s);

/// The figures that a prediction stands on, with their origins, in a line.
std::string explain_figures(const Machine& machine);

}  // namespace weir

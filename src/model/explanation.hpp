#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/election.hpp"

namespace weir {

/// Bytes that a placement moves over each class of links, most first: "link", "bridge", "gateway", "storage", ...
std::vector<std::pair<std::string, double>> bytes_by_link_class(const PlacementProblem& problem, const Places& places);

/// "node 17 hbm"
std::string place_name(const Machine& machine, Place place);

/// Candidates and what they cost, what decided, where the aggregators are, what the links carry and how long it takes.
std::string explain_election(const PlacementProblem& problem, Strategy strategy, const Election& election,
                             const Prediction& prediction);

}  // namespace weir

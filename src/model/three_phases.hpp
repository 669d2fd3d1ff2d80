#pragma once

#include <optional>
#include <string>

#include "model/flows.hpp"
#include "model/placement.hpp"

namespace weir {

/// How long a step takes that goes through a bank of memory servers, with aggregators in these places.
///
/// Writing: the busiest node's bytes into the bank, w / B_write + l; one meeting, 2 l_network ceil(log2 nodes); then the
/// busiest aggregating node's bytes out of it, a / B_read, while others are stored, the first buffer alone. Reading is
/// the same with B_write and B_read in each other's place. After RAN, whose ranks meet once.
/// Limitations: the bank's bandwidth is what one node gets when all use it, so links and servers are not looked at.
Prediction predict_three_phases(const PlacementProblem& problem, const Places& places, const Bank& bank,
                                Direction direction);

/// Why so many bytes of a job cannot go through a bank of memory servers, or nothing.
std::optional<std::string> unfit_for_three_phases(const Bank& bank, int nodes, double bytes);

}  // namespace weir

#pragma once

#include "simulate.hpp"
#include "two_phase.hpp"

/// Jobs, planned and simulated: what most experiments need.
namespace weir::sim {

/// Buffers of a size, aggregators of a number; 0 leaves it to Weir.
PlanLimits limits_of(int aggregators, int buffers, double buffer_bytes);
/// What a strategy elects, with nothing asked of the banks.
ElectionRules rules_of(Strategy strategy, std::string bank = {});

double planned_s(const PlannedJob& job, const Software& software = {});
double planned_s(const Job& job, const PlanLimits& limits, const Software& software = {});
double two_phase_s(const Job& job, const TwoPhase& scheme);

}  // namespace weir::sim

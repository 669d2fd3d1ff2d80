#include "timing.hpp"

namespace weir::sim {

PlanLimits limits_of(int aggregators, int buffers, double buffer_bytes) {
  PlanLimits limits;
  limits.aggregators = static_cast<std::uint32_t>(aggregators);
  limits.buffers = static_cast<std::uint32_t>(buffers);
  limits.buffer_size = static_cast<std::uint64_t>(buffer_bytes);
  limits.memory = limits.buffers * limits.buffer_size +
                  2 * Placement::most_landings * in_lines(limits.chunk + chunk_trailer);
  return limits;
}

ElectionRules rules_of(Strategy strategy, std::string bank) {
  ElectionRules rules;
  rules.strategy = strategy;
  rules.bank = std::move(bank);
  return rules;
}

double planned_s(const PlannedJob& job, const Software& software) {
  Schedule schedule{*job.machine};
  schedule_plan(schedule, job, software);
  return simulate(schedule).end_s;
}

double planned_s(const Job& job, const PlanLimits& limits, const Software& software) {
  return planned_s(plan_job(job, limits, rules_of(Strategy::contention)), software);
}

double two_phase_s(const Job& job, const TwoPhase& scheme) {
  Schedule schedule{*job.machine};
  schedule_two_phase(schedule, job, scheme);
  return simulate(schedule).end_s;
}

}  // namespace weir::sim

#pragma once

#include "box/cluster.hpp"
#include "plan/plan.hpp"
#include "workload.hpp"

namespace weir::sim {

/// A job in a box, as `weir bench` ran it there.
struct BoxJob {
  box::Shape shape;
  std::uint64_t stripe = 0;  ///< bytes of a file on one storage host before the next
  Machine machine;           ///< as it was described to the job
  StorageTraits storage;
  std::string workload;
  bench::Parameters parameters;
  int ranks = 1;
  Direction direction = Direction::write;
  PlanLimits limits;
  ElectionRules rules;
};

struct BoxOutcome {
  std::uint64_t plan = 0;  ///< its hash
  Mode mode = Mode::aggregate;
  int aggregators = 0;
  double seconds = 0;
};

/// Weir's own plan for the job as flows over the box's links, on the routes that packets take there. Stripes lie on the
/// storage hosts in turns. Links carry data and the headers of full frames; processors and Ceph take no time.
BoxOutcome simulate_in_box(const BoxJob& job);

}  // namespace weir::sim

#pragma once

#include "machine/machine.hpp"
#include "model/placement.hpp"

namespace weir {

/// How long it takes when every rank moves its own pieces, one call each.
double direct_s(const Machine& machine, const Demand& demand);
/// What a round of an aggregator takes besides its bytes.
double round_s(const Machine& machine);

/// Chooses between direct, aggregated in two phases and, where a bank of memory servers is described and may be used, in
/// three, the number of aggregators and the size of their buffers by what a machine's links, gateways, banks and storage
/// need for the volume: the fastest of a few of each wins, and of equally fast ones that with fewer aggregators and
/// smaller buffers. What the user fixed stays.
///
/// On one node the rule of thumb, whose limits were measured on such, says whether to aggregate.
/// Limitations: nodes are taken to have equally much, in the order of the file; a storage call costs the storage's
/// latency (0.1 ms where it is unknown), a round that of the network once more. `plan_layout`, which knows who has what,
/// may find direct to be faster after all.
class MachineRule : public PlacementModel {
 public:
  explicit MachineRule(const Machine& machine) : machine_{machine} {}
  [[nodiscard]] std::string name() const override { return "machine"; }
  [[nodiscard]] Placement place(const Demand& demand, const PlanLimits& limits) const override;

 private:
  const Machine& machine_;
};

}  // namespace weir

#pragma once

#include <span>
#include <string>

#include "model/election.hpp"
#include "plan/layout.hpp"

namespace weir {

/// How aggregators are chosen on a machine that is known.
struct ElectionRules {
  Strategy strategy = Strategy::contention;
  std::string bank;                             ///< the only one to use; empty: any
  Persistency persistency = Persistency::none;  ///< that the bank must have at least
  bool stays = false;                           ///< all data must stay in the bank
  bool may_use_servers = false;                 ///< of memory, where three phases are faster than two

  [[nodiscard]] bool wants_bank() const noexcept { return !bank.empty() || persistency != Persistency::none; }
};

/// What each node gives to each domain of a layout, as far as footprints tell.
Traffic traffic_of(const Layout& layout, std::span<const Footprint> footprints, const NodeMap& nodes);

/// Gives domains to ranks of the elected nodes, each at most once, spread over their node.
void seat_aggregators(Layout& layout, const Places& places, const NodeMap& nodes);

/// Chooses the banks of aggregators that stay where they are, such as those of sub-files, for this reason.
Status keep_aggregators(Layout& layout, std::span<const Footprint> footprints, const NodeMap& nodes,
                        const Machine& machine, const ElectionRules& rules, const std::string& reason);

/// Lets a model choose the ranks that aggregate a layout's domains, and says why. Node k of the job is the machine's
/// node k, which has at least as many. Every rank that asks with the same gets the same.
Status elect_aggregators(Layout& layout, std::span<const Footprint> footprints, const NodeMap& nodes,
                         const Machine& machine, const ElectionRules& rules);

}  // namespace weir

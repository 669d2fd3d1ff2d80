#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "model/traffic.hpp"

namespace weir {

/// Where aggregation buffers of one domain lie.
struct Place {
  int node = 0;
  int bank = 0;  ///< of the machine's banks

  bool operator==(const Place&) const = default;
};

/// By domain.
using Places = std::vector<Place>;

/// Under which conditions aggregation buffers are placed.
struct PlacementConditions {
  const Machine* machine = nullptr;
  bool reads = false;  ///< data comes from the storage
  int buffers = 2;
  double buffer_bytes = 16e6;
  Persistency persistency = Persistency::none;  ///< at least
  bool stays = false;                           ///< all of a domain's data must stay in the bank
  std::string bank;                             ///< the only one that may be used; empty: any
  int most_per_node = 1;                        ///< domains that one node may aggregate
  int job_nodes = 0;                            ///< only the first so many nodes may aggregate; 0: all

  [[nodiscard]] int nodes() const noexcept { return job_nodes > 0 ? job_nodes : machine->nodes(); }
  /// Bytes of a bank that a domain of so many takes.
  [[nodiscard]] double needed(double domain_bytes) const noexcept {
    return stays ? domain_bytes : buffers * buffer_bytes;
  }
  /// Why a bank cannot hold the buffers of a domain of so many bytes; nothing when it can.
  [[nodiscard]] std::optional<std::string> unfit(const Bank& candidate, double domain_bytes) const;
  /// The banks that can, in the machine's order.
  [[nodiscard]] std::vector<int> fitting_banks(double domain_bytes) const;
};

/// What has to be placed.
struct PlacementProblem : PlacementConditions {
  Traffic traffic;

  /// `most_per_node`, or more when the nodes would not suffice.
  [[nodiscard]] int seats_per_node() const noexcept {
    const int domains = static_cast<int>(traffic.size());
    return most_per_node * nodes() >= domains ? most_per_node : (domains + nodes() - 1) / nodes();
  }
  /// The nodes among which a domain's aggregator is elected: those with its data, or, when most domains have data
  /// from most nodes, an equal share of them.
  [[nodiscard]] std::vector<int> electorate(int domain) const;
};

}  // namespace weir

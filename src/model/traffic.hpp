#pragma once

#include <span>
#include <vector>

namespace weir {

/// What a node gives to a domain, or gets from it.
struct Share {
  int node = 0;
  double bytes = 0;
};

/// Everything that has to go through one aggregator.
struct DomainTraffic {
  std::vector<Share> producers;  ///< by node, ascending; never empty
  double bytes = 0;
};

/// By domain.
using Traffic = std::vector<DomainTraffic>;

/// The nodes' data lies in the file in the order of the nodes; domains of equal size are cut from it.
Traffic traffic_in_order(std::span<const double> node_bytes, int domains);
/// Every node's data is spread evenly over the whole file.
Traffic traffic_spread(std::span<const double> node_bytes, int domains);

/// The same with at most so many producers a domain: every few-th stands for its neighbours. What models look at must not
/// grow with aggregators times nodes.
Traffic thinned(const Traffic& traffic, std::size_t most_producers);

}  // namespace weir

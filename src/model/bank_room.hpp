#pragma once

#include <vector>

#include "model/problem.hpp"

namespace weir {

/// What is left of the banks of every node while domains are placed: aggregators of one node must fit together.
class BankRoom {
 public:
  explicit BankRoom(const PlacementConditions& conditions);

  /// The fastest bank of a node that has room for a domain, of several equally fast ones the first; 0 on a machine that
  /// has no banks, -1 when none has room.
  [[nodiscard]] int best(int node, double domain_bytes) const;
  [[nodiscard]] bool has_room(Place place, double domain_bytes) const;
  void take(Place place, double domain_bytes) { left(place) -= conditions_->needed(domain_bytes); }
  void give_back(Place place, double domain_bytes) { left(place) += conditions_->needed(domain_bytes); }

 private:
  [[nodiscard]] double& left(Place place) {
    return left_[static_cast<std::size_t>(place.node) * banks_ + static_cast<std::size_t>(place.bank)];
  }
  [[nodiscard]] double left(Place place) const { return const_cast<BankRoom*>(this)->left(place); }

  const PlacementConditions* conditions_;
  std::size_t banks_;
  std::vector<int> fitting_;  // fastest first
  std::vector<double> left_;  // by node and bank
};

}  // namespace weir

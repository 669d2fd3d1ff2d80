#include <algorithm>
#include <limits>
#include <queue>

#include "model/flows.hpp"

namespace weir {
namespace {

/// A resource that several flows want.
struct Pool {
  double bandwidth = 0;
  std::vector<int> flows;
  double left = 0;   ///< not given away yet
  int wanting = 0;   ///< flows without a rate
};

class Sharing {
 public:
  Sharing(const Machine& machine, const std::vector<const Flow*>& flows) : left_(flows.size()), rate_(flows.size()) {
    std::vector<int> pool_of(static_cast<std::size_t>(resources(machine)), -1);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      left_[f] = flows[f]->bytes;
      auto& mine = pools_of_.emplace_back();
      for (const int resource : flows[f]->resources) {
        const double bandwidth = resource_bandwidth(machine, resource);
        if (bandwidth == std::numeric_limits<double>::infinity()) continue;
        int& pool = pool_of[static_cast<std::size_t>(resource)];
        if (pool < 0) {
          pool = static_cast<int>(pools_.size());
          pools_.push_back({bandwidth, {}, 0, 0});
        }
        pools_[static_cast<std::size_t>(pool)].flows.push_back(static_cast<int>(f));
        mine.push_back(pool);
      }
      if (left_[f] > 0 && !mine.empty()) ++active_;
    }
  }

  /// Runs until every flow has ended; tells when each did.
  template <class Ended>
  void run(Ended&& ended) {
    for (std::size_t f = 0; f < left_.size(); ++f)
      if (left_[f] <= 0 || pools_of_[f].empty()) {
        left_[f] = 0;
        ended(f, 0.0);
      }
    double now = 0;
    while (active_ > 0) {
      give_rates();
      double step = std::numeric_limits<double>::infinity();
      for (std::size_t f = 0; f < left_.size(); ++f)
        if (left_[f] > 0) step = std::min(step, left_[f] / rate_[f]);
      now += step;
      for (std::size_t f = 0; f < left_.size(); ++f) {
        if (left_[f] <= 0) continue;
        // Flows that end within a part in 10^9 end together: rounding must not make events of its own.
        if (left_[f] <= step * rate_[f] * (1 + 1e-9)) {
          left_[f] = 0;
          --active_;
          ended(f, now);
        } else {
          left_[f] -= step * rate_[f];
        }
      }
    }
  }

 private:
  /// Max-min fairness: the pool that can give each of its flows least fixes their rates, and so on.
  void give_rates() {
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> order;
    std::fill(rate_.begin(), rate_.end(), 0.0);
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      Pool& pool = pools_[p];
      pool.left = pool.bandwidth;
      std::erase_if(pool.flows, [&](int f) { return left_[static_cast<std::size_t>(f)] <= 0; });
      pool.wanting = static_cast<int>(pool.flows.size());
      if (pool.wanting > 0) order.push({pool.left / pool.wanting, static_cast<int>(p)});
    }
    while (!order.empty()) {
      const auto [share, p] = order.top();
      order.pop();
      Pool& pool = pools_[static_cast<std::size_t>(p)];
      if (pool.wanting == 0) continue;
      const double least = pool.bandwidth * 1e-12;  // what rounding may have taken away
      if (const double now = std::max(least, pool.left) / pool.wanting; now > share * (1 + 1e-12)) {
        order.push({now, p});
        continue;
      }
      for (const int f : pool.flows) {
        double& rate = rate_[static_cast<std::size_t>(f)];
        if (rate > 0) continue;
        rate = std::max(share, least);
        for (const int other : pools_of_[static_cast<std::size_t>(f)]) {
          pools_[static_cast<std::size_t>(other)].left -= share;
          --pools_[static_cast<std::size_t>(other)].wanting;
        }
      }
    }
  }

  std::vector<double> left_, rate_;
  std::vector<Pool> pools_;
  std::vector<std::vector<int>> pools_of_;  ///< by flow
  int active_ = 0;
};

}  // namespace

double shared_finish_s(const Machine& machine, const std::vector<const Flow*>& flows) {
  double last = 0;
  Sharing{machine, flows}.run(
      [&](std::size_t flow, double when) { last = std::max(last, when + flows[flow]->latency_s); });
  return last;
}

}  // namespace weir

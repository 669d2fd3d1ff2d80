#include "unit/fair_sharing_reference.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace weir {

double reference_finish_s(const Machine& machine, std::vector<Flow> flows) {
  double now = 0, last = 0;
  for (auto flow = flows.begin(); flow != flows.end();) {
    std::erase_if(flow->resources, [&](int r) { return resource_bandwidth(machine, r) > 1e30; });
    if (flow->resources.empty() || flow->bytes <= 0) {
      last = std::max(last, flow->latency_s);
      flow = flows.erase(flow);
    } else {
      ++flow;
    }
  }
  while (!flows.empty()) {
    std::vector<double> rates(flows.size(), 0);
    std::vector<bool> grows(flows.size(), true);
    while (std::ranges::count(grows, true) > 0) {
      std::map<int, double> used;
      std::map<int, int> growing;
      for (std::size_t f = 0; f < flows.size(); ++f)
        for (const int r : flows[f].resources) {
          used[r] += rates[f];
          growing[r] += grows[f];
        }
      double more = std::numeric_limits<double>::infinity();
      for (const auto& [r, count] : growing)
        if (count > 0) more = std::min(more, (resource_bandwidth(machine, r) - used[r]) / count);
      for (std::size_t f = 0; f < flows.size(); ++f)
        if (grows[f]) rates[f] += more;
      for (const auto& [r, count] : growing)
        if (count > 0 && used[r] + more * count >= resource_bandwidth(machine, r) * (1 - 1e-12))
          for (std::size_t f = 0; f < flows.size(); ++f)
            if (std::ranges::count(flows[f].resources, r)) grows[f] = false;
    }
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t f = 0; f < flows.size(); ++f) step = std::min(step, flows[f].bytes / rates[f]);
    now += step;
    for (std::size_t f = flows.size(); f-- > 0;) {
      flows[f].bytes -= rates[f] * step;
      if (flows[f].bytes > rates[f] * step * 1e-9 && flows[f].bytes > 1e-3) continue;
      last = std::max(last, now + flows[f].latency_s);
      flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(f));
    }
  }
  return last;
}

}  // namespace weir

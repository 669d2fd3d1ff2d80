#include "model/traffic.hpp"

#include <algorithm>
#include <numeric>

namespace weir {
namespace {

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

void add(DomainTraffic& domain, int node, double bytes) {
  domain.producers.push_back({node, bytes});
  domain.bytes += bytes;
}

}  // namespace

Traffic traffic_in_order(std::span<const double> node_bytes, int domains) {
  const double each = sum(node_bytes) / domains;
  Traffic traffic(static_cast<std::size_t>(domains));
  std::size_t domain = 0;
  double room = each;
  for (std::size_t node = 0; node < node_bytes.size(); ++node) {
    double left = node_bytes[node];
    while (left > 0) {
      const bool last = domain + 1 == traffic.size();
      const double part = last ? left : std::min(left, room);
      if (part > 0) add(traffic[domain], static_cast<int>(node), part);
      left -= part;
      room -= part;
      if (!last && room <= each * 1e-9) {
        ++domain;
        room = each;
      }
    }
  }
  std::erase_if(traffic, [](const DomainTraffic& empty) { return empty.producers.empty(); });
  return traffic;
}

Traffic thinned(const Traffic& traffic, std::size_t most_producers) {
  Traffic thin(traffic.size());
  for (std::size_t d = 0; d < traffic.size(); ++d) {
    const auto& all = traffic[d].producers;
    const std::size_t stride = (all.size() + most_producers - 1) / most_producers;
    double sum = 0;
    for (std::size_t k = d % stride; k < all.size(); k += stride) {
      thin[d].producers.push_back(all[k]);
      sum += all[k].bytes;
    }
    thin[d].bytes = traffic[d].bytes;
    if (stride > 1 && sum > 0)
      for (Share& share : thin[d].producers) share.bytes *= traffic[d].bytes / sum;
  }
  return thin;
}

Traffic traffic_spread(std::span<const double> node_bytes, int domains) {
  Traffic traffic(static_cast<std::size_t>(domains));
  for (DomainTraffic& domain : traffic)
    for (std::size_t node = 0; node < node_bytes.size(); ++node)
      if (node_bytes[node] > 0) add(domain, static_cast<int>(node), node_bytes[node] / domains);
  std::erase_if(traffic, [](const DomainTraffic& empty) { return empty.producers.empty(); });
  return traffic;
}

}  // namespace weir

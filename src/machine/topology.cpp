#include "machine/topology.hpp"

#include <algorithm>
#include <limits>

namespace weir {

int Topology::hops(int from, int to) const {
  std::vector<int> links;
  route(from, to, links);
  return static_cast<int>(links.size());
}

double Topology::bandwidth(int from, int to) const {
  std::vector<int> links;
  route(from, to, links);
  double least = std::numeric_limits<double>::infinity();
  for (const int link : links) {
    const Bandwidth& bandwidth = classes_[static_cast<std::size_t>(class_of(link))].bandwidth;
    if (bandwidth.known()) least = std::min(least, bandwidth.value);
  }
  return least;
}

double Topology::latency(int from, int to) const {
  std::vector<int> links;
  route(from, to, links);
  double sum = 0;
  for (const int link : links) sum += classes_[static_cast<std::size_t>(class_of(link))].latency.value;
  return sum;
}

}  // namespace weir

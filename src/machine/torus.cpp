#include "machine/torus.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace weir {

TorusTopology::TorusTopology(std::vector<int> shape, bool rings, LinkClass link)
    : Topology{{std::move(link)}}, shape_{std::move(shape)}, rings_{rings} {
  for (const int length : shape_) nodes_ *= length;
}

std::vector<int> TorusTopology::coordinates(int node) const {
  std::vector<int> at(shape_.size());
  for (std::size_t d = shape_.size(); d-- > 0; node /= shape_[d]) at[d] = node % shape_[d];
  return at;
}

int TorusTopology::steps(std::size_t dimension, int from, int to) const {
  const int length = shape_[dimension], up = to - from;
  if (!rings_ || 2 * std::abs(up) <= length) return up;
  return up > 0 ? up - length : up + length;
}

void TorusTopology::route(int from, int to, std::vector<int>& links) const {
  const int sides = 2 * static_cast<int>(shape_.size());
  int stride = nodes_, at = from;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    const int length = shape_[d];
    stride /= length;
    int here = at / stride % length;
    const int way = steps(d, here, to / stride % length), direction = way < 0 ? -1 : 1;
    for (int step = 0; step != way; step += direction) {
      links.push_back(at * sides + 2 * static_cast<int>(d) + (direction > 0));
      const int next = (here + direction + length) % length;
      at += (next - here) * stride;
      here = next;
    }
  }
}

int TorusTopology::hops(int from, int to) const {
  int stride = nodes_, sum = 0;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    stride /= shape_[d];
    sum += std::abs(steps(d, from / stride % shape_[d], to / stride % shape_[d]));
  }
  return sum;
}

std::vector<std::pair<std::string, std::string>> TorusTopology::parameters() const {
  return {{"shape", fmt::format("[{}]", fmt::join(shape_, ", "))}};
}

}  // namespace weir

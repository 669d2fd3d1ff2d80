#include "schedule.hpp"

namespace weir::sim {

int Schedule::add_resource(double bandwidth) {
  added_.push_back(bandwidth);
  return resources(*machine_) + static_cast<int>(added_.size()) - 1;
}

double Schedule::bandwidth(int resource) const {
  const int own = resources(*machine_);
  return resource < own ? resource_bandwidth(*machine_, resource) : added_[static_cast<std::size_t>(resource - own)];
}

Endpoint Schedule::endpoint(Place place) const {
  const int banks = std::max(1, static_cast<int>(machine_->banks.size()));
  return {Endpoint::Kind::place, place.node * banks + place.bank};
}

int Schedule::way(Endpoint from, Endpoint to, std::vector<int> resources, double latency_s) {
  const auto [at, is_new] = known_.try_emplace({from, to}, static_cast<int>(ways_.size()));
  if (is_new) ways_.push_back({from, to, std::move(resources), latency_s});
  return at->second;
}

int Schedule::gather_way(int node, Place place, const std::vector<int>& more) {
  const std::pair key{Endpoint{Endpoint::Kind::node, node}, endpoint(place)};
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  std::vector<int> path;
  route_gather(*machine_, node, place, path);
  const double latency = way_latency(*machine_, path);
  path.insert(path.end(), more.begin(), more.end());
  return way(key.first, key.second, std::move(path), latency);
}

int Schedule::store_way(Place place, const std::vector<int>& more) {
  std::vector<int> path;
  route_store(*machine_, place, path);
  const double latency = way_latency(*machine_, path);
  path.insert(path.end(), more.begin(), more.end());
  return way(endpoint(place), {Endpoint::Kind::storage, 0}, std::move(path), latency);
}

int Schedule::load_way(Place place, const std::vector<int>& more) {
  const Way out = ways_[static_cast<std::size_t>(store_way(place, more))];
  return way(out.to, out.from, out.resources, out.latency_s);
}

int Schedule::transfer(int way, std::uint64_t bytes, std::vector<int> after, double delay_s) {
  const double latency = way < 0 ? 0 : ways_[static_cast<std::size_t>(way)].latency_s;
  steps_.push_back({way, bytes, latency + delay_s, std::move(after)});
  return static_cast<int>(steps_.size()) - 1;
}

int Schedule::wait(double delay_s, std::vector<int> after) { return transfer(-1, 0, std::move(after), delay_s); }

std::map<int, std::uint64_t> Schedule::bytes_by_resource() const {
  std::map<int, std::uint64_t> bytes;
  for (const Step& step : steps_)
    if (step.way >= 0)
      for (const int resource : ways_[static_cast<std::size_t>(step.way)].resources) bytes[resource] += step.bytes;
  return bytes;
}

}  // namespace weir::sim

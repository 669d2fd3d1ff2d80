#include "simulated_machine.hpp"

#include <algorithm>
#include <cmath>

namespace weir::sim {

namespace s4u = simgrid::s4u;

constexpr int the_storage = -1;
constexpr double least_latency_s = 1e-9;  // SimGrid wants one, or a link

SimulatedMachine::SimulatedMachine(const Machine& machine) : NetZoneImpl{"machine"}, machine_{machine} {
  const auto host = [&](const std::string& name, int number) {
    s4u::Host* made = create_host(name, {1e9})->seal();
    number_of_[made->get_netpoint()] = number;
    return made;
  };
  for (int n = 0; n < machine.nodes(); ++n) nodes_.push_back(host("node " + std::to_string(n), n));
  storage_ = host("storage", the_storage);
  for (int r = 0; r < weir::resources(machine); ++r)
    if (const double bandwidth = resource_bandwidth(machine, r); std::isfinite(bandwidth))
      links_[r] = create_link("resource " + std::to_string(r), {bandwidth})->seal();
  seal();
}

StorageTraits SimulatedMachine::storage_traits() const {
  StorageTraits traits{.kind = "posix", .file_system = machine_.storage.kind, .local = false};
  if (machine_.storage.stripe.known()) traits.stripe = static_cast<std::uint64_t>(machine_.storage.stripe.value);
  return traits;
}

int SimulatedMachine::number(const s4u::Host* node) const { return number_of_.at(node->get_netpoint()); }

std::vector<int> SimulatedMachine::resources(int from, int to) const {
  std::vector<int> all;
  if (from == to) return all;
  if (from == the_storage) std::swap(from, to);
  if (to == the_storage)
    route_store(machine_, {from, 0}, all);
  else
    route_gather(machine_, from, {to, 0}, all);
  return all;
}

void SimulatedMachine::get_local_route(const simgrid::kernel::routing::NetPoint* from,
                                       const simgrid::kernel::routing::NetPoint* to,
                                       simgrid::kernel::routing::Route* into, double* latency) {
  const std::vector<int> all = resources(number_of_.at(from), number_of_.at(to));
  *latency = std::max(way_latency(machine_, all), least_latency_s);
  for (const int resource : all)
    if (const auto link = links_.find(resource); link != links_.end())
      into->link_list_.push_back(link->second->get_impl());
}

void SimulatedMachine::carried(const s4u::Host* from, const s4u::Host* to, std::uint64_t bytes) {
  for (const int resource : resources(number(from), number(to)))
    if (links_.contains(resource)) bytes_[resource] += bytes;
}

}  // namespace weir::sim

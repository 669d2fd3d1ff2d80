#include "box/cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "core/errors.hpp"
#include "machine/dragonfly.hpp"
#include "machine/torus.hpp"
#include "machine/tree.hpp"

namespace weir::box {
namespace {

constexpr int most_hosts = 64;  // a machine with few cores carries no more; addresses would do for 250
constexpr int nowhere = -1;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Error refused(const std::string& topology, const std::string& why) {
  return Error{problem(Code::invalid, fmt::format("cannot make a box of topology '{}': {}", topology, why),
                       "known are torus, torus:STORAGE, dragonfly, dragonfly:STORAGE and star:COMPUTE:STORAGE, such as "
                       "torus:1 or star:4:2")};
}

/// The numbers after the topology's name.
std::vector<int> numbers_of(const std::string& topology) {
  std::vector<int> numbers;
  for (std::size_t colon = topology.find(':'); colon != std::string::npos;) {
    const std::size_t end = std::min(topology.find(':', colon + 1), topology.size());
    int number = 0;
    const auto [stop, error] = std::from_chars(topology.data() + colon + 1, topology.data() + end, number);
    if (error != std::errc{} || stop != topology.data() + end)
      throw refused(topology, "a number is expected after ':'");
    numbers.push_back(number);
    colon = end < topology.size() ? end : std::string::npos;
  }
  return numbers;
}

/// The links of a route that are wires: a host is its own router, so its way to the router is none.
std::vector<int> wires_of(const Topology& topology, int from, int to) {
  std::vector<int> links;
  topology.route(from, to, links);
  std::erase_if(links, [&](int link) { return topology.classes()[at(topology.class_of(link))].name == "node"; });
  return links;
}

}  // namespace

void Cluster::add_hosts(Role role, const char* prefix, int count) {
  for (int i = 0; i < count; ++i) hosts_.push_back({fmt::format("{}{}", prefix, i), role});
}

void Cluster::join(int a, int b) { wires_.push_back({a, b}); }

void Cluster::take_routes(const Topology& topology) {
  const int nodes = topology.nodes();
  std::map<int, int> end_of;  // of each link that two neighbours have between them
  std::set<std::pair<int, int>> joined;
  for (int a = 0; a < nodes; ++a)
    for (int b = 0; b < nodes; ++b) {
      const std::vector<int> links = wires_of(topology, a, b);
      if (links.size() != 1) continue;
      end_of[links.front()] = b;
      if (joined.insert({std::min(a, b), std::max(a, b)}).second) join(a, b);
    }
  for (int a = 0; a < nodes; ++a)
    for (int b = 0; b < nodes; ++b)
      if (a != b) next_[at(a)][at(b)] = end_of.at(wires_of(topology, a, b).front());
}

void Cluster::attach_storage(int count) {
  const int nodes = machine_.nodes();
  std::vector<int> bridges;
  for (int k = 0; k < count; ++k) bridges.push_back(count == 1 ? nodes - 1 : k * (nodes - 1) / (count - 1));
  for (int k = 0; k < count; ++k) {
    const int storage = nodes + k, bridge = bridges[at(k)];
    join(bridge, storage);
    for (int other = 0; other < nodes + count; ++other) {
      if (other == storage) continue;
      next_[at(storage)][at(other)] = bridge;
      if (other == bridge) next_[at(other)][at(storage)] = storage;
      if (other < nodes && other != bridge) next_[at(other)][at(storage)] = next(other, bridge);
    }
  }
  machine_.io.bridges = bridges;
}

void Cluster::make_star(int compute, int storage) {
  const int router = compute + storage;
  for (int host = 0; host < router; ++host) {
    join(host, router);
    for (int other = 0; other < router; ++other)
      if (other != host) next_[at(host)][at(other)] = router;
    next_[at(host)][at(router)] = router;
    next_[at(router)][at(host)] = host;
  }
}

Cluster Cluster::make(const Shape& shape) {
  const std::string kind = shape.topology.substr(0, shape.topology.find(':'));
  const std::vector<int> numbers = numbers_of(shape.topology);
  const bool star = kind == "star";
  if (!star && kind != "torus" && kind != "dragonfly")
    throw refused(shape.topology, fmt::format("'{}' is unknown", kind));
  if (star ? numbers.size() != 2 : numbers.size() > 1) throw refused(shape.topology, "it has another number of ':'");
  const int compute = star ? numbers[0] : 8, storage = star ? numbers[1] : numbers.empty() ? 2 : numbers[0];
  if (compute < 1 || storage < 0 || compute + storage > most_hosts || (!star && storage > compute))
    throw refused(shape.topology, fmt::format("at least one compute host, and at most {} hosts, can be had; "
                                              "and a storage host for each of the others in torus and dragonfly",
                                              most_hosts));
  Cluster cluster;
  cluster.rates_ = shape.rates;
  cluster.add_hosts(Role::compute, "c", compute);
  cluster.add_hosts(Role::storage, "s", storage);
  if (star) cluster.add_hosts(Role::router, "r", 1);
  cluster.hosts_.push_back({"fe", Role::front});
  cluster.next_.assign(cluster.hosts_.size(), std::vector<int>(cluster.hosts_.size(), nowhere));

  Machine& machine = cluster.machine_;
  const Rates& rates = shape.rates;
  const Bandwidth wire{rates.among_hosts.bytes_per_s, Origin::configured, "box"};
  const Latency hop{50e-6, Origin::assumed, "a hop between namespaces"};
  const LinkClass link{"link", wire, hop}, own{"node", {}, {}};
  machine.name = kind + " in a box";
  machine.about =
      fmt::format("{} compute and {} storage hosts on one machine, {} links", compute, storage, rates.among_hosts.text);
  if (rates.of_storage.text != rates.among_hosts.text)
    machine.about += fmt::format(", {} to storage hosts", rates.of_storage.text);
  if (star) machine.topology = std::make_shared<FatTreeTopology>(std::vector{compute}, std::vector{link});
  if (kind == "torus") machine.topology = std::make_shared<TorusTopology>(std::vector{2, 2, 2}, true, link);
  if (kind == "dragonfly")
    machine.topology =
        std::make_shared<DragonflyTopology>(DragonflyTopology::Shape{4, 1, 2, 1, 1}, own, link, link, link);
  if (star) {
    cluster.make_star(compute, storage);
  } else {
    cluster.take_routes(*machine.topology);
    cluster.attach_storage(storage);
  }
  if (storage > 0) {
    machine.io.bridge_bandwidth = {rates.of_storage.bytes_per_s, Origin::configured, "box"};
    machine.io.gateway_bandwidth = {storage * rates.of_storage.bytes_per_s, Origin::configured,
                                    "box: the links of all storage hosts"};
  }
  return cluster;
}

std::vector<std::string> Cluster::names(Role role) const {
  std::vector<std::string> found;
  for (const Host& host : hosts_)
    if (host.role == role) found.push_back(host.name);
  return found;
}

int Cluster::find(std::string_view name) const {
  const auto found = std::ranges::find(hosts_, name, &Host::name);
  if (found != hosts_.end()) return static_cast<int>(found - hosts_.begin());
  std::vector<std::string> known;
  for (const Host& host : hosts_) known.push_back(host.name);
  throw Error{problem(Code::invalid, fmt::format("the box has no host '{}'", name),
                      fmt::format("its hosts are {}", fmt::join(known, ", ")))};
}

std::vector<int> Cluster::path(int from, int to) const {
  std::vector<int> hops;
  while (from != to) hops.push_back(from = next(from, to));
  return hops;
}

std::string Cluster::address(int host) const { return fmt::format("10.77.255.{}", host + 1); }

std::string Cluster::management_address(int host) const { return fmt::format("10.77.254.{}", host + 1); }

std::string Cluster::link_address(int host, int neighbour) const {
  for (std::size_t k = 0; k < wires_.size(); ++k) {
    if (wires_[k].a == host && wires_[k].b == neighbour) return fmt::format("10.77.{}.1", k);
    if (wires_[k].b == host && wires_[k].a == neighbour) return fmt::format("10.77.{}.2", k);
  }
  return {};
}

std::string Cluster::host_table() const {
  std::string text = "127.0.0.1 localhost\n";
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    const int host = static_cast<int>(h);
    text +=
        fmt::format("{} {}\n", hosts_[h].is_in_network() ? address(host) : management_address(host), hosts_[h].name);
  }
  return text;
}

}  // namespace weir::box

#include "machine/machine.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace weir {
namespace {

constexpr std::array persistency_names{"none", "process", "job", "permanent"};
constexpr std::array scope_names{"process", "node", "network"};

template <class Enum, std::size_t count>
std::optional<Enum> parse(std::string_view text, const std::array<const char*, count>& names) noexcept {
  for (std::size_t k = 0; k < count; ++k)
    if (text == names[k]) return static_cast<Enum>(k);
  return {};
}

double or_unlimited(const Bandwidth& bandwidth) { return bandwidth.known() ? bandwidth.value : unlimited; }

}  // namespace

std::string_view name(Persistency persistency) noexcept { return persistency_names[static_cast<std::size_t>(persistency)]; }
std::string_view name(Scope scope) noexcept { return scope_names[static_cast<std::size_t>(scope)]; }
std::optional<Persistency> parse_persistency(std::string_view text) noexcept {
  return parse<Persistency>(text, persistency_names);
}
std::optional<Scope> parse_scope(std::string_view text) noexcept { return parse<Scope>(text, scope_names); }

const Bank* Machine::server_bank() const noexcept {
  const auto found = std::ranges::find_if(banks, [](const Bank& each) { return each.is_remote() && each.path.empty(); });
  return found == banks.end() ? nullptr : &*found;
}

const Bank* Machine::bank(std::string_view bank_name) const noexcept {
  const auto at = std::ranges::find(banks, bank_name, &Bank::name);
  return at == banks.end() ? nullptr : &*at;
}

// After the topology's links: one a node (its own way or its bridge's), one a group, one for the file system.
int Machine::links() const noexcept { return topology->links() + nodes() + groups() + 1; }

double Machine::link_bandwidth(int link) const {
  if (link < topology->links())
    return or_unlimited(topology->classes()[static_cast<std::size_t>(topology->class_of(link))].bandwidth);
  link -= topology->links();
  return or_unlimited(link < nodes()              ? io.bridge_bandwidth
                      : link < nodes() + groups() ? io.gateway_bandwidth
                                                  : storage.write);
}

double Machine::link_latency(int link) const {
  if (link < topology->links())
    return topology->classes()[static_cast<std::size_t>(topology->class_of(link))].latency.value;
  link -= topology->links();
  return link < nodes() ? io.latency.value : link < nodes() + groups() ? 0 : storage.latency.value;
}

std::string_view Machine::link_class(int link) const {
  if (link < topology->links()) return topology->classes()[static_cast<std::size_t>(topology->class_of(link))].name;
  link -= topology->links();
  return link < nodes() ? "bridge" : link < nodes() + groups() ? "gateway" : "storage";
}

int Machine::bridge_of(int node) const {
  if (io.bridges.empty()) return node;
  const int first = node / group_size() * group_size();
  int nearest = first, fewest = std::numeric_limits<int>::max();
  for (const int position : io.bridges) {
    const int bridge = first + position;
    if (bridge >= nodes()) continue;
    if (const int hops = topology->hops(node, bridge); hops < fewest) {
      nearest = bridge;
      fewest = hops;
    }
  }
  return nearest;
}

namespace {

void add_way_out(const Machine& machine, int bridge, std::vector<int>& links) {
  const int first = machine.topology->links();
  links.push_back(first + bridge);
  links.push_back(first + machine.nodes() + bridge / machine.group_size());
  links.push_back(first + machine.nodes() + machine.groups());
}

}  // namespace

void Machine::route_to_storage(int node, std::vector<int>& links) const {
  topology->route(node, bridge_of(node), links);
  add_way_out(*this, bridge_of(node), links);
}

void Machine::route_from_storage(int node, std::vector<int>& links) const {
  add_way_out(*this, bridge_of(node), links);
  topology->route(bridge_of(node), node, links);
}

int Machine::hops_to_storage(int node) const {
  if (!io.hops.empty()) return io.hops[static_cast<std::size_t>(node)];
  return topology->hops(node, bridge_of(node)) + 1;
}

bool operator==(const Machine& a, const Machine& b) {
  const auto values = [](const Machine& m) {
    return std::tie(m.name, m.about, m.ranks_per_node, m.io, m.storage, m.banks, m.experiment, m.origins);
  };
  return values(a) == values(b) && *a.topology == *b.topology;
}

}  // namespace weir

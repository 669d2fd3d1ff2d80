#include "machine/joined_nodes.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>

#include "machine/posix_traits.hpp"
#include "machine/scheduler.hpp"
#include "machine/torus.hpp"

namespace weir {
namespace {

constexpr double usual_network_bandwidth = 1.25e9, usual_network_latency = 20e-6;
constexpr double usual_storage_bandwidth = 1e9, usual_storage_latency = 1e-3, usual_local_latency = 5e-5;

template <Unit unit>
void keep_worse(Figure<unit>& mine, const Figure<unit>& other) {
  if (!other.known()) return;
  const bool worse = unit == Unit::seconds ? other.value > mine.value : other.value < mine.value;
  if (!mine.known() || worse) mine = other;
}

/// What every node has counts as often as nodes share it.
void divide(Capacity& capacity, int sharers) {
  if (sharers <= 1) return;
  capacity.value /= sharers;
  capacity.note = fmt::format("one of {} nodes that share it", sharers);
}

/// `mine` without what `other` lacks, and with the worse figures of the two. Alike are the k-th ones of a name.
template <class Item, class Worse>
void keep_common(std::vector<Item>& mine, const std::vector<Item>& other, std::string Item::*name, const Worse& worse) {
  std::map<std::string, std::vector<const Item*>> others;
  for (const Item& item : other) others[item.*name].push_back(&item);
  std::map<std::string, std::size_t> seen;
  std::erase_if(mine, [&](Item& item) {
    const auto found = others.find(item.*name);
    const std::size_t k = seen[item.*name]++;
    if (found == others.end() || k >= found->second.size()) return true;
    worse(item, *found->second[k]);
    return false;
  });
}

void keep_common(NodeFacts& mine, const NodeFacts& other) {
  keep_common(mine.numa, other.numa, &NumaFacts::kind, [](NumaFacts& a, const NumaFacts& b) {
    keep_worse(a.capacity, b.capacity);
    keep_worse(a.latency, b.latency);
    keep_worse(a.read, b.read);
    keep_worse(a.write, b.write);
  });
  keep_common(mine.directories, other.directories, &Bank::name, [](Bank& a, const Bank& b) {
    keep_worse(a.capacity, b.capacity);
    if (a.kind != b.kind) a.kind = "disk";
  });
  keep_common(mine.networks, other.networks, &NetworkDevice::name,
              [](NetworkDevice& a, const NetworkDevice& b) { keep_worse(a.bandwidth, b.bandwidth); });
  keep_common(mine.disks, other.disks, &BlockDevice::name,
              [](BlockDevice& a, const BlockDevice& b) { keep_worse(a.size, b.size); });
  mine.cores = std::min(mine.cores, other.cores);
  keep_worse(mine.storage.free, other.storage.free);
  for (const std::string& warning : other.warnings)
    if (std::ranges::find(mine.warnings, warning) == mine.warnings.end() && mine.warnings.size() < 8)
      mine.warnings.push_back(warning);
}

std::uint64_t hash_of(const std::string& text) { return XXH3_64bits(text.data(), text.size()); }

LinkClass network_link(const NodeFacts& facts) {
  LinkClass link{"network", {}, {usual_network_latency, Origin::assumed, "usual for a network"}};
  for (const NetworkDevice& device : facts.networks)
    if (device.bandwidth.value > link.bandwidth.value) link.bandwidth = device.bandwidth;
  if (!link.bandwidth.known()) link.bandwidth = {usual_network_bandwidth, Origin::assumed, "usual for a network"};
  return link;
}

}  // namespace

JoinedNodes join(const std::vector<NodeFacts>& nodes) {
  JoinedNodes joined;
  if (nodes.empty()) return joined;
  std::map<std::string, int> sharers;
  std::set<std::string> hosts;
  std::vector<std::vector<std::string>> switches;
  std::string shapes;
  for (const NodeFacts& node : nodes) {
    ++sharers[node.system];
    hosts.insert(node.host);
    switches.push_back(node.switches);
    shapes += fmt::format("{:016x}", node.shape);
  }
  bool first = true;
  for (NodeFacts node : nodes) {
    const int sharing = node.system.empty() ? 1 : sharers[node.system];
    for (NumaFacts& numa : node.numa) divide(numa.capacity, sharing);
    for (Bank& bank : node.directories) divide(bank.capacity, sharing);
    if (first) joined.common = std::move(node);
    else keep_common(joined.common, node);
    first = false;
  }
  joined.nodes = static_cast<int>(nodes.size());
  joined.systems = static_cast<int>(sharers.size());
  joined.common.switches.clear();
  long block = 1;
  for (const int length : joined.common.job_shape) block = std::min(block * length, 1L << 32);
  const auto same = [&](const NodeFacts& node) { return node.job_shape == nodes.front().job_shape; };
  if (block != joined.nodes || joined.systems < joined.nodes || !std::ranges::all_of(nodes, same))
    joined.common.job_shape.clear();
  joined.common.shape = hash_of(shapes);
  joined.common.host = hosts.size() == 1 ? *hosts.begin()
                                         : fmt::format("{} and {} more", *hosts.begin(), hosts.size() - 1);
  std::string all_hosts;
  for (const std::string& host : hosts) all_hosts += host + '\n';
  joined.common.system = fmt::format("{:016x}", hash_of(all_hosts));
  if (nodes.size() > 1 && joined.systems == joined.nodes) joined.parents = joined_parents(switches);
  return joined;
}

void store(Writer& to, const JoinedNodes& joined) {
  to.put(joined.nodes);
  to.put(joined.systems);
  store(to, joined.common);
  to.put(joined.parents);
}

JoinedNodes load_joined_nodes(Reader& from) {
  JoinedNodes joined;
  from.get_to(joined.nodes);
  from.get_to(joined.systems);
  joined.common = load_node_facts(from);
  from.get_to(joined.parents);
  return joined;
}

std::vector<Bank> banks_of(const JoinedNodes& joined) {
  std::vector<Bank> banks = banks_of(joined.common);
  banks.insert(banks.end(), joined.servers.begin(), joined.servers.end());
  return banks;
}

Machine machine_of(const JoinedNodes& joined, int ranks_per_node) {
  Machine machine;
  machine.name = joined.common.host;
  machine.about = joined.systems < joined.nodes
                      ? fmt::format("detected: {} nodes, pretended on {}", joined.nodes, joined.systems)
                      : fmt::format("detected: {} {}", joined.nodes, joined.nodes == 1 ? "node" : "nodes");
  machine.ranks_per_node = ranks_per_node;
  machine.origins.ranks_per_node = {Origin::system, "the most that a node of the job has"};
  const LinkClass link = network_link(joined.common);
  const std::vector<int>& shape = joined.common.job_shape;
  // A block of a torus need not reach around it.
  if (!shape.empty())
    machine.topology = std::make_shared<TorusTopology>(shape, false, link);
  else
    machine.topology = topology_of(joined.nodes, joined.parents, link);
  machine.origins.topology = {Origin::system, shape.empty() && joined.parents.empty()
                                                  ? "nodes of the job, taken to be equally far from one another"
                                                  : "nodes of the job, as the scheduler or their names place them"};
  machine.storage = joined.common.storage;
  const bool local = is_local_file_system(machine.storage.kind);
  const char* note = local ? "usual for a local file system" : "usual for storage";
  if (!machine.storage.read.known()) machine.storage.read = {usual_storage_bandwidth, Origin::assumed, note};
  if (!machine.storage.write.known()) machine.storage.write = {usual_storage_bandwidth, Origin::assumed, note};
  if (!machine.storage.latency.known())
    machine.storage.latency = {local ? usual_local_latency : usual_storage_latency, Origin::assumed, note};
  machine.banks = banks_of(joined);
  return machine;
}

}  // namespace weir

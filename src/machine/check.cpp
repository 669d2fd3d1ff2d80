#include "machine/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "core/nearest.hpp"

namespace weir {
namespace {

constexpr std::int64_t most = std::numeric_limits<int>::max();

std::optional<Finding> check_io(const Machine& machine) {
  const IoAccess& io = machine.io;
  const int nodes = machine.nodes(), group = machine.group_size();
  if (group > nodes)
    return Finding{"io.group", fmt::format("a group of {} nodes on a machine that has {}", group, nodes),
                   fmt::format("write {} or less, or leave it out for one group of all nodes", nodes)};
  std::set<int> seen;
  for (const int bridge : io.bridges) {
    if (bridge < 0 || bridge >= group)
      return Finding{"io.bridges", fmt::format("the bridge {} is outside its group of {} nodes", bridge, group),
                     fmt::format("bridges are positions in a group, 0 to {}", group - 1)};
    if (!seen.insert(bridge).second)
      return Finding{"io.bridges", fmt::format("the bridge {} is there twice", bridge), "name every bridge once"};
  }
  if (!io.hops.empty() && io.hops.size() != static_cast<std::size_t>(nodes))
    return Finding{"io.hops", fmt::format("{} hops for {} nodes", io.hops.size(), nodes),
                   "write the hops of every node to the storage"};
  for (const int hops : io.hops)
    if (hops < 0) return Finding{"io.hops", fmt::format("{} hops", hops), "hops are 0 or more"};
  return {};
}

std::optional<Finding> check_banks(const Machine& machine) {
  std::set<std::string> seen;
  for (const Bank& bank : machine.banks) {
    if (bank.name.empty()) return Finding{"bank", "a bank without a name", "give it one, such as 'dram'"};
    if (!seen.insert(bank.name).second)
      return Finding{"bank", fmt::format("two banks are named '{}'", bank.name), "give every bank a name of its own"};
    if (std::ranges::find(bank_kinds(), bank.kind) == bank_kinds().end())
      return Finding{"bank", fmt::format("unknown kind '{}' of bank '{}'", bank.kind, bank.name),
                     fmt::format("did you mean '{}'? kinds are {}", nearest(bank.kind, bank_kinds()),
                                 fmt::join(bank_kinds(), ", "))};
  }
  return {};
}

std::optional<Finding> check_experiment(const Machine& machine) {
  if (!machine.experiment) return {};
  const Experiment& experiment = *machine.experiment;
  const std::int64_t ranks = std::int64_t{machine.nodes()} * experiment.ranks_per_node;
  if (ranks > most)
    return Finding{"experiment.ranks_per_node", fmt::format("{} ranks", ranks), fmt::format("at most {}", most)};
  if (!experiment.bytes.empty() && static_cast<std::int64_t>(experiment.bytes.size()) != ranks)
    return Finding{"experiment.bytes",
                   fmt::format("bytes of {} processes, but {} nodes with {} each make {}", experiment.bytes.size(),
                               machine.nodes(), experiment.ranks_per_node, ranks),
                   "write the bytes of every process, or most_bytes for random ones"};
  if (experiment.aggregators > ranks)
    return Finding{"experiment.aggregators",
                   fmt::format("{} aggregators among {} ranks", experiment.aggregators, ranks),
                   fmt::format("at most {}", ranks)};
  return {};
}

/// An origin of what is not there is a mistake.
std::optional<Finding> check_origins(const Machine& machine) {
  const auto idle = [](std::string_view key, const Provenance& source, bool there) -> std::optional<Finding> {
    if (there || source == Provenance{}) return {};
    return Finding{fmt::format("origin.{}", key), fmt::format("an origin of '{}', of which nothing is said", key),
                   "describe it, or leave its origin out"};
  };
  if (auto finding = idle("group", machine.origins.group, machine.io.group > 0)) return finding;
  if (auto finding = idle("bridges", machine.origins.bridges, !machine.io.bridges.empty())) return finding;
  if (auto finding = idle("hops", machine.origins.hops, !machine.io.hops.empty())) return finding;
  return idle("experiment", machine.origins.experiment, machine.experiment.has_value());
}

}  // namespace

const std::vector<std::string_view>& bank_kinds() {
  static const std::vector<std::string_view> kinds{"hbm", "dram", "nvram", "nvme", "ssd", "hdd", "remote"};
  return kinds;
}

std::optional<Finding> check(const Machine& machine) {
  if (const std::int64_t ranks = std::int64_t{machine.nodes()} * machine.ranks_per_node; ranks > most)
    return Finding{"ranks_per_node", fmt::format("{} ranks", ranks), fmt::format("at most {}", most)};
  if (std::optional<Finding> finding = check_io(machine)) return finding;
  if (std::int64_t{machine.topology->links()} + machine.nodes() + machine.groups() + 1 > most)
    return Finding{"topology", fmt::format("more than {} links with those to the storage", most),
                   "describe a smaller machine"};
  if (std::optional<Finding> finding = check_banks(machine)) return finding;
  if (std::optional<Finding> finding = check_experiment(machine)) return finding;
  return check_origins(machine);
}

}  // namespace weir

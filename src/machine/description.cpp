#include "machine/description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>

#include "core/errors.hpp"
#include "core/nearest.hpp"
#include "machine/check.hpp"
#include "machine/description_topology.hpp"

namespace weir {
namespace {

IoAccess read_io(const toml::table& source, DescriptionProblem& problem) {
  DescriptionTable table{source, "[io]", problem};
  IoAccess io;
  io.group = table.whole("group", 1, 0);
  io.bridges = table.wholes("bridges", 0, Need::optional);
  io.bridge_bandwidth = table.figure<Unit::bytes_per_second>("bridge_bandwidth");
  io.gateway_bandwidth = table.figure<Unit::bytes_per_second>("gateway_bandwidth");
  io.latency = table.figure<Unit::seconds>("latency");
  io.hops = table.wholes("hops", 0, Need::optional);
  table.done();
  return io;
}

FileSystem read_storage(const toml::table& source, DescriptionProblem& problem) {
  DescriptionTable table{source, "[storage]", problem};
  FileSystem storage;
  storage.kind = table.text("kind", Need::required);
  storage.path = table.text("path", Need::optional);
  storage.read = table.figure<Unit::bytes_per_second>("read");
  storage.write = table.figure<Unit::bytes_per_second>("write");
  storage.latency = table.figure<Unit::seconds>("latency");
  storage.call = table.figure<Unit::seconds>("call");
  storage.block = table.figure<Unit::bytes>("block");
  storage.stripe = table.figure<Unit::bytes>("stripe");
  storage.free = table.figure<Unit::bytes>("free");
  table.done();
  return storage;
}

/// A word of a small set; the first of them where there is none.
template <class Enum>
Enum read_word(DescriptionTable& table, std::string_view key, Enum otherwise, Enum last,
               std::optional<Enum> (*parse)(std::string_view)) {
  const std::string text = table.text(key, Need::optional);
  if (!table.has(key)) return otherwise;
  if (const std::optional<Enum> found = parse(text)) return *found;
  std::vector<std::string_view> names;
  for (int k = 0; k <= static_cast<int>(last); ++k) names.push_back(name(static_cast<Enum>(k)));
  table.tell(table.at(key), fmt::format("unknown {} '{}' in {}", key, text, table.name()),
             fmt::format("did you mean '{}'? there are {}", nearest(text, names), fmt::join(names, ", ")));
  return otherwise;
}

Bank read_bank(const toml::table& source, DescriptionProblem& problem) {
  DescriptionTable table{source, "[[bank]]", problem};
  Bank bank;
  bank.name = table.text("name", Need::required);
  bank.kind = table.text("kind", Need::optional);
  if (bank.kind.empty()) bank.kind = bank.name;
  bank.capacity = table.figure<Unit::bytes>("capacity");
  bank.latency = table.figure<Unit::seconds>("latency");
  bank.read = table.figure<Unit::bytes_per_second>("read");
  bank.write = table.figure<Unit::bytes_per_second>("write");
  bank.persistency = read_word<Persistency>(table, "persistency", Persistency::none, Persistency::permanent,
                                            [](std::string_view text) { return parse_persistency(text); });
  bank.scope = read_word<Scope>(table, "scope", bank.kind == "remote" ? Scope::network : Scope::node, Scope::network,
                                [](std::string_view text) { return parse_scope(text); });
  bank.path = table.text("path", Need::optional);
  table.done();
  return bank;
}

void read_banks(DescriptionTable& root, Machine& machine, DescriptionProblem& problem) {
  const toml::array* list = root.list("bank", Need::optional);
  if (!list) return;
  for (const toml::node& node : *list) {
    const toml::table* table = node.as_table();
    if (!table) {
      problem.tell(node.source(), "a bank is not a table", "begin every bank with a line [[bank]]");
      return;
    }
    machine.banks.push_back(read_bank(*table, problem));
    if (!problem.ok()) return;
    // Told here, where the position of the bank is known.
    if (const std::optional<Finding> finding = check(machine); finding && finding->key == "bank")
      problem.tell(table->source(), finding->what, finding->remedy);
  }
}

Experiment read_experiment(const toml::table& source, int ranks_per_node, DescriptionProblem& problem) {
  DescriptionTable table{source, "[experiment]", problem};
  Experiment experiment;
  experiment.bytes = table.byte_list("bytes");
  experiment.most_bytes = table.bytes("most_bytes", Need::optional);
  experiment.ranks_per_node = table.whole("ranks_per_node", 1, ranks_per_node);
  experiment.aggregators = table.whole("aggregators", 1);
  experiment.buffers = table.whole("buffers", 1);
  experiment.buffer_bytes = table.bytes("buffer_bytes", Need::required);
  if (const toml::table* published = table.table("published")) {
    DescriptionTable results{*published, "[experiment.published]", problem};
    for (const auto& [model, node] : *published)
      experiment.published.emplace(model.str(), results.figure<Unit::bytes_per_second>(model.str()));
  }
  table.done();
  if (experiment.bytes.empty() == (experiment.most_bytes == 0))
    problem.tell(source.source(), "either 'bytes' or 'most_bytes' must be in [experiment]",
                 "write the bytes of every process, or the most that each has at random");
  return experiment;
}

Origins read_origins(const toml::table& source, DescriptionProblem& problem) {
  DescriptionTable table{source, "[origin]", problem};
  Origins origins;
  origins.ranks_per_node = table.source("ranks_per_node");
  origins.topology = table.source("topology");
  origins.group = table.source("group");
  origins.bridges = table.source("bridges");
  origins.hops = table.source("hops");
  origins.experiment = table.source("experiment");
  table.done();
  return origins;
}

const toml::source_region& region_of(const toml::table& root, std::string_view dotted) {
  const std::size_t dot = dotted.find('.');
  const auto found = root.find(dotted.substr(0, dot));
  if (found == root.end()) return root.source();
  const toml::table* inner = found->second.as_table();
  if (dot == std::string_view::npos || !inner) return found->first.source();
  return inner->contains(dotted.substr(dot + 1)) ? region_of(*inner, dotted.substr(dot + 1)) : found->first.source();
}

Result<Machine> read_tables(const toml::table& source, DescriptionProblem& problem) {
  DescriptionTable root{source, "the description", problem};
  Machine machine;
  machine.name = root.text("name", Need::required);
  machine.about = root.text("about", Need::optional);
  machine.ranks_per_node = root.whole("ranks_per_node", 1, 1);
  const toml::table* topology = root.table("topology");
  const toml::table* io = root.table("io");
  const toml::table* storage = root.table("storage");
  const toml::table* experiment = root.table("experiment");
  const toml::table* origin = root.table("origin");
  root.list("bank", Need::optional);
  if (!root.done()) return problem.status();
  if (!topology) {
    problem.tell(source.source(), "no table [topology]", "add it, with a kind such as \"flat\" and nodes = 1");
    return problem.status();
  }
  machine.topology = read_topology(*topology, problem);
  if (!machine.topology) return problem.status();
  read_banks(root, machine, problem);
  if (io) machine.io = read_io(*io, problem);
  if (storage) machine.storage = read_storage(*storage, problem);
  if (experiment) machine.experiment = read_experiment(*experiment, machine.ranks_per_node, problem);
  if (origin) machine.origins = read_origins(*origin, problem);
  if (problem.ok())
    if (const std::optional<Finding> finding = check(machine))
      problem.tell(region_of(source, finding->key), fmt::format("{} ('{}')", finding->what, finding->key),
                   finding->remedy);
  if (!problem.ok()) return problem.status();
  return machine;
}

}  // namespace

Result<Machine> read_machine(std::string_view toml_text, std::string_view origin_name) {
  try {
    DescriptionProblem problem{origin_name};
    try {
      return read_tables(toml::parse(toml_text, std::string{origin_name}), problem);
    } catch (const toml::parse_error& error) {
      problem.tell(error.source(), error.description(),
                   "a description is a TOML file; docs/machines.md shows its form");
      return problem.status();
    }
  } catch (const std::bad_alloc&) {
    return problem(
        Code::no_memory, [&] { return fmt::format("cannot read machine from {}: out of memory", origin_name); },
        "describe a smaller machine");
  }
}

}  // namespace weir

#include "machine/machine_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr std::size_t longest_list = 12;
constexpr std::size_t longest_parameter = 60;

std::string few(const std::vector<int>& numbers) {
  const std::size_t shown = std::min(numbers.size(), longest_list);
  return fmt::format("{}{}", fmt::join(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     shown < numbers.size() ? fmt::format(", ... ({} in all)", numbers.size()) : "");
}

std::string count(int number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

std::string_view lasting(Persistency persistency) {
  switch (persistency) {
    case Persistency::none: return "nothing stays";
    case Persistency::process: return "data stays while the process runs";
    case Persistency::job: return "data stays while the job runs";
    case Persistency::permanent: return "data stays for ever";
  }
  return "";
}

/// A titled block of lines; the title stands before the first one.
class Block {
 public:
  explicit Block(std::string_view title) : title_{title} {}

  void line(std::string_view text) { text_ += fmt::format("{:<12}{}\n", std::exchange(title_, ""), text); }
  void entry(std::string_view name, std::string_view value) { line(fmt::format("  {:<12}{}", name, value)); }
  template <Unit unit>
  void figure(std::string_view name, const Figure<unit>& value) {
    entry(name, format_figure(value));
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string_view title_;
  std::string text_;
};

std::string links_text(const Topology& topology) {
  Block block{"links"};
  for (const LinkClass& link : topology.classes()) {
    block.line(link.name);
    block.figure("bandwidth", link.bandwidth);
    block.figure("latency", link.latency);
  }
  return block.text();
}

std::string io_text(const Machine& machine) {
  const IoAccess& io = machine.io;
  Block block{"way out"};
  if (io.group > 0)
    block.line(fmt::format("{} of {} ({}), each with a gateway to the storage", count(machine.groups(), "group"),
                           count(io.group, "node"), format_source(machine.origins.group)));
  else
    block.line("all nodes share a gateway to the storage");
  if (io.bridges.empty())
    block.line("every node has a way of its own to it");
  else
    block.line(fmt::format("data leaves the network at bridges, in a group at {} ({})", few(io.bridges),
                           format_source(machine.origins.bridges)));
  block.figure(io.bridges.empty() ? "a way" : "a bridge", io.bridge_bandwidth);
  block.figure("a gateway", io.gateway_bandwidth);
  block.figure("latency", io.latency);
  if (!io.hops.empty()) block.entry("hops", fmt::format("{} ({})", few(io.hops), format_source(machine.origins.hops)));
  return block.text();
}

std::string bank_text(const Bank& bank) {
  Block block{"bank"};
  block.line(fmt::format("{}{}, {} scope, {}", bank.name, bank.kind == bank.name ? "" : fmt::format(" ({})", bank.kind),
                         name(bank.scope), lasting(bank.persistency)));
  block.figure("capacity", bank.capacity);
  block.figure("latency", bank.latency);
  block.figure("read", bank.read);
  block.figure("write", bank.write);
  if (!bank.path.empty()) block.entry("path", bank.path);
  return block.text();
}

std::string storage_text(const FileSystem& storage) {
  Block block{"storage"};
  if (storage == FileSystem{}) {
    block.line("unknown");
    return block.text();
  }
  block.line(storage.path.empty() ? storage.kind : fmt::format("{} at {}", storage.kind, storage.path));
  block.figure("read", storage.read);
  block.figure("write", storage.write);
  block.figure("latency", storage.latency);
  block.figure("call", storage.call);
  block.figure("block", storage.block);
  block.figure("stripe", storage.stripe);
  block.figure("free", storage.free);
  return block.text();
}

std::string bytes_text(const std::vector<double>& bytes) {
  std::vector<std::string> amounts;
  for (std::size_t k = 0; k < std::min(bytes.size(), longest_list); ++k)
    amounts.push_back(bytes[k] == 0 ? "0 B" : format_figure(bytes[k], Unit::bytes));
  if (amounts.size() < bytes.size()) amounts.push_back(fmt::format("... ({} in all)", bytes.size()));
  return fmt::format("{}", fmt::join(amounts, ", "));
}

std::string experiment_text(const Experiment& experiment, const Provenance& source) {
  Block block{"experiment"};
  if (experiment.bytes.empty())
    block.line(fmt::format("ranks move 0 to {} at random", format_figure(experiment.most_bytes, Unit::bytes)));
  else
    block.line(fmt::format("ranks move {}", bytes_text(experiment.bytes)));
  block.line(fmt::format("{} a node, {}, {} of {}", count(experiment.ranks_per_node, "rank"),
                         count(experiment.aggregators, "aggregator"), count(experiment.buffers, "buffer"),
                         format_figure(experiment.buffer_bytes, Unit::bytes)));
  block.entry("from", format_source(source));
  for (const auto& [model, bandwidth] : experiment.published) block.figure(model, bandwidth);
  return block.text();
}

}  // namespace

std::string topology_title(const Topology& topology) {
  std::string title{topology.kind()};
  for (const auto& [key, value] : topology.parameters())
    if (value.size() <= longest_parameter && key != "nodes") title += fmt::format(", {} {}", key, value);
  return title;
}

std::string machine_text(const Machine& machine) {
  Block head{"machine"};
  head.line(machine.name);
  if (!machine.about.empty()) head.line(machine.about);
  Block topology{"topology"};
  topology.line(topology_title(*machine.topology));
  topology.line(fmt::format("{} with {} each", count(machine.nodes(), "node"), count(machine.ranks_per_node, "rank")));
  topology.entry("network", format_source(machine.origins.topology));
  topology.entry("ranks", format_source(machine.origins.ranks_per_node));
  std::string text = head.text() + topology.text() + links_text(*machine.topology) + io_text(machine);
  for (const Bank& bank : machine.banks) text += bank_text(bank);
  text += storage_text(machine.storage);
  if (machine.experiment) text += experiment_text(*machine.experiment, machine.origins.experiment);
  return text;
}

}  // namespace weir

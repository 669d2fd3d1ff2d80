#include <fmt/format.h>
#include <fmt/ranges.h>

#include "machine/description.hpp"
#include "machine/toml_text.hpp"

namespace weir {
namespace {

std::string key_of(std::string_view name) {
  const auto bare = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  for (const char c : name)
    if (!bare(c)) return toml_text(name);
  return name.empty() ? toml_text(name) : std::string{name};
}

/// Lines of a description; what is empty or unknown is left out.
class Lines {
 public:
  void header(std::string_view name) { text_ += fmt::format("\n{}\n", name); }
  void raw(std::string_view key, std::string_view value) { text_ += fmt::format("{} = {}\n", key, value); }
  void text(std::string_view key, std::string_view value) {
    if (!value.empty()) raw(key, toml_text(value));
  }
  void whole(std::string_view key, int value) { raw(key, fmt::to_string(value)); }
  void wholes(std::string_view key, const std::vector<int>& values) {
    if (!values.empty()) raw(key, fmt::format("[{}]", fmt::join(values, ", ")));
  }
  template <Unit unit>
  void figure(std::string_view key, const Figure<unit>& figure) {
    if (figure != Figure<unit>{}) raw(key, toml_text(format_figure(figure)));
  }
  void bytes(std::string_view key, double value) { raw(key, bytes_text(value)); }
  void bytes(std::string_view key, const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double value : values) texts.push_back(bytes_text(value));
    raw(key, fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  std::string take() { return std::move(text_); }

 private:
  static std::string bytes_text(double value) {
    return toml_text(value == 0 ? "0 B" : format_figure(value, Unit::bytes));
  }
  std::string text_;
};

void write_topology(Lines& lines, const Topology& topology) {
  lines.header("[topology]");
  lines.text("kind", topology.kind());
  for (const auto& [key, value] : topology.parameters()) lines.raw(key, value);
  for (const LinkClass& link : topology.classes()) {
    lines.header(fmt::format("[topology.links.{}]", key_of(link.name)));
    lines.figure("bandwidth", link.bandwidth);
    lines.figure("latency", link.latency);
  }
}

void write_io(Lines& lines, const IoAccess& io) {
  if (io == IoAccess{}) return;
  lines.header("[io]");
  if (io.group > 0) lines.whole("group", io.group);
  lines.wholes("bridges", io.bridges);
  lines.figure("bridge_bandwidth", io.bridge_bandwidth);
  lines.figure("gateway_bandwidth", io.gateway_bandwidth);
  lines.figure("latency", io.latency);
  lines.wholes("hops", io.hops);
}

void write_storage(Lines& lines, const FileSystem& storage) {
  if (storage == FileSystem{}) return;
  lines.header("[storage]");
  lines.text("kind", storage.kind);
  lines.text("path", storage.path);
  lines.figure("read", storage.read);
  lines.figure("write", storage.write);
  lines.figure("latency", storage.latency);
  lines.figure("call", storage.call);
  lines.figure("block", storage.block);
  lines.figure("stripe", storage.stripe);
  lines.figure("free", storage.free);
}

void write_bank(Lines& lines, const Bank& bank) {
  lines.header("[[bank]]");
  lines.text("name", bank.name);
  lines.text("kind", bank.kind);
  lines.figure("capacity", bank.capacity);
  lines.figure("latency", bank.latency);
  lines.figure("read", bank.read);
  lines.figure("write", bank.write);
  lines.text("persistency", name(bank.persistency));
  lines.text("scope", name(bank.scope));
  lines.text("path", bank.path);
}

void write_experiment(Lines& lines, const Experiment& experiment) {
  lines.header("[experiment]");
  if (!experiment.bytes.empty()) lines.bytes("bytes", experiment.bytes);
  if (experiment.most_bytes > 0) lines.bytes("most_bytes", experiment.most_bytes);
  lines.whole("ranks_per_node", experiment.ranks_per_node);
  lines.whole("aggregators", experiment.aggregators);
  lines.whole("buffers", experiment.buffers);
  lines.bytes("buffer_bytes", experiment.buffer_bytes);
  if (!experiment.published.empty()) lines.header("[experiment.published]");
  for (const auto& [model, bandwidth] : experiment.published) lines.figure(key_of(model), bandwidth);
}

void write_origins(Lines& lines, const Origins& origins) {
  if (origins == Origins{}) return;
  lines.header("[origin]");
  const auto line = [&](std::string_view key, const Provenance& source) {
    if (source != Provenance{}) lines.text(key, format_source(source));
  };
  line("ranks_per_node", origins.ranks_per_node);
  line("topology", origins.topology);
  line("group", origins.group);
  line("bridges", origins.bridges);
  line("hops", origins.hops);
  line("experiment", origins.experiment);
}

}  // namespace

std::string write_machine(const Machine& machine) {
  Lines lines;
  lines.text("name", machine.name);
  lines.text("about", machine.about);
  lines.whole("ranks_per_node", machine.ranks_per_node);
  write_topology(lines, *machine.topology);
  write_io(lines, machine.io);
  write_storage(lines, machine.storage);
  for (const Bank& bank : machine.banks) write_bank(lines, bank);
  if (machine.experiment) write_experiment(lines, *machine.experiment);
  write_origins(lines, machine.origins);
  return lines.take();
}

}  // namespace weir

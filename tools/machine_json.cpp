#include "machine_json.hpp"

namespace weir::tools {
namespace {

using Json = nlohmann::ordered_json;

template <Unit unit>
Json json_of(const Figure<unit>& figure) {
  if (figure == Figure<unit>{}) return nullptr;
  Json json;
  json["value"] = figure.known() ? Json(figure.value) : Json(nullptr);
  json["unit"] = unit == Unit::bytes ? "B" : unit == Unit::seconds ? "s" : "B/s";
  json["origin"] = name(figure.origin);
  if (!figure.note.empty()) json["note"] = figure.note;
  return json;
}

Json json_of(const Topology& topology) {
  Json json;
  json["kind"] = topology.kind();
  json["nodes"] = topology.nodes();
  for (const auto& [key, value] : topology.parameters()) json[key] = Json::parse(value, nullptr, false);
  for (const LinkClass& link : topology.classes())
    json["links"].push_back(
        {{"name", link.name}, {"bandwidth", json_of(link.bandwidth)}, {"latency", json_of(link.latency)}});
  return json;
}

Json json_of(const IoAccess& io) {
  return {{"group", io.group},
          {"bridges", io.bridges},
          {"bridge_bandwidth", json_of(io.bridge_bandwidth)},
          {"gateway_bandwidth", json_of(io.gateway_bandwidth)},
          {"latency", json_of(io.latency)},
          {"hops", io.hops}};
}

Json json_of(const FileSystem& storage) {
  return {{"kind", storage.kind},
          {"path", storage.path},
          {"read", json_of(storage.read)},
          {"write", json_of(storage.write)},
          {"latency", json_of(storage.latency)},
          {"block", json_of(storage.block)},
          {"stripe", json_of(storage.stripe)},
          {"free", json_of(storage.free)}};
}

Json json_of(const Bank& bank) {
  return {{"name", bank.name},
          {"kind", bank.kind},
          {"capacity", json_of(bank.capacity)},
          {"latency", json_of(bank.latency)},
          {"read", json_of(bank.read)},
          {"write", json_of(bank.write)},
          {"persistency", name(bank.persistency)},
          {"scope", name(bank.scope)},
          {"path", bank.path}};
}

Json json_of(const Experiment& experiment) {
  Json published = Json::object();
  for (const auto& [model, bandwidth] : experiment.published) published[model] = json_of(bandwidth);
  return {{"bytes", experiment.bytes},
          {"most_bytes", experiment.most_bytes},
          {"ranks_per_node", experiment.ranks_per_node},
          {"aggregators", experiment.aggregators},
          {"buffers", experiment.buffers},
          {"buffer_bytes", experiment.buffer_bytes},
          {"published", published}};
}

Json json_of(const Origins& origins) {
  Json json;
  const auto add = [&](const char* key, const Provenance& source) { json[key] = format_source(source); };
  add("ranks_per_node", origins.ranks_per_node);
  add("topology", origins.topology);
  add("group", origins.group);
  add("bridges", origins.bridges);
  add("hops", origins.hops);
  add("experiment", origins.experiment);
  return json;
}

}  // namespace

nlohmann::ordered_json machine_json(const Machine& machine) {
  Json json;
  json["name"] = machine.name;
  json["about"] = machine.about;
  json["ranks_per_node"] = machine.ranks_per_node;
  json["topology"] = json_of(*machine.topology);
  json["io"] = json_of(machine.io);
  json["storage"] = json_of(machine.storage);
  json["banks"] = Json::array();
  for (const Bank& bank : machine.banks) json["banks"].push_back(json_of(bank));
  if (machine.experiment) json["experiment"] = json_of(*machine.experiment);
  json["origins"] = json_of(machine.origins);
  return json;
}

}  // namespace weir::tools

#include "experiment.hpp"
#include "machine/stored.hpp"
#include "timing.hpp"

namespace weir::sim {
namespace {

// RAN: three nodes of 12 ranks, 512 MB a rank, four ranks an aggregator, three devices.
constexpr int nodes = 3, ranks_per_node = 12, ranks_an_aggregator = 4, devices = 3;
constexpr std::uint64_t rank_bytes = 512'000'000;
constexpr int aggregators = nodes * ranks_per_node / ranks_an_aggregator;

/// Memory on the network: what goes in and what comes out do not disturb each other.
class RemoteMemory {
 public:
  RemoteMemory(Schedule& schedule, const Machine& machine, double bandwidth) : schedule_{schedule}, machine_{machine} {
    for (int k = 0; k < devices; ++k) {
      in_.push_back(schedule.add_resource(bandwidth));
      out_.push_back(schedule.add_resource(bandwidth));
    }
  }
  int way_in(int node, int device) {
    const std::vector<int> path = route(node, other(node));
    return schedule_.way({Endpoint::Kind::node, node}, {Endpoint::Kind::device, device},
                         {path.front(), in_[static_cast<std::size_t>(device)]}, latency(path));
  }
  int way_out(int device, int node) {
    const std::vector<int> path = route(other(node), node);
    return schedule_.way({Endpoint::Kind::device, device}, {Endpoint::Kind::node, node},
                         {out_[static_cast<std::size_t>(device)], path.back()}, latency(path));
  }

 private:
  /// A node's own links are the first and the last of any route.
  static int other(int node) { return node == 0 ? 1 : 0; }
  [[nodiscard]] std::vector<int> route(int from, int to) const {
    std::vector<int> path;
    machine_.topology->route(from, to, path);
    return path;
  }
  [[nodiscard]] double latency(const std::vector<int>& path) const { return way_latency(machine_, path); }

  Schedule& schedule_;
  const Machine& machine_;
  std::vector<int> in_, out_;
};

struct Setting {
  const Machine& machine;
  double device_bandwidth, synchronising_s, buffer_bytes;
};

/// Stores leave a node by its own link, as dumps do.
int store_way(Schedule& schedule, const Machine& machine, int node) {
  std::vector<int> path;
  machine.topology->route(node, node == 0 ? 1 : 0, path);
  return schedule.store_way({node, 0}, {path.front()});
}

/// Ranks dump, aggregators collect, aggregators write. In step: phases of a round one after another, a synchronisation
/// after each; otherwise one synchronisation when all is dumped, and a buffer is collected while the other is written.
double three_phase_s(const Setting& setting, bool in_step) {
  Schedule schedule{setting.machine};
  RemoteMemory memory{schedule, setting.machine, setting.device_bandwidth};
  const std::uint64_t total = rank_bytes * nodes * ranks_per_node;
  const auto rounds = static_cast<std::uint64_t>(static_cast<double>(total) / aggregators / setting.buffer_bytes) + 1;
  const std::uint64_t part = total / aggregators / rounds;
  const auto dump = [&](std::uint64_t share, const std::vector<int>& after) {
    std::vector<int> dumped;
    for (int node = 0; node < nodes; ++node)
      for (int device = 0; device < devices; ++device)
        dumped.push_back(schedule.transfer(memory.way_in(node, device), total / nodes / devices / share, after));
    return schedule.wait(setting.synchronising_s, std::move(dumped));
  };
  const auto collect = [&](int aggregator, const std::vector<int>& after) {
    std::vector<int> collected;
    for (int device = 0; device < devices; ++device)
      collected.push_back(schedule.transfer(memory.way_out(device, aggregator % nodes), part / devices, after));
    return collected;
  };
  const auto store = [&](int aggregator, std::vector<int> after) {
    return schedule.transfer(store_way(schedule, setting.machine, aggregator % nodes), part, std::move(after));
  };
  if (in_step) {
    std::vector<int> before;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const int dumped = dump(rounds, before);
      std::vector<int> all, stores;
      for (int a = 0; a < aggregators; ++a)
        for (const int step : collect(a, {dumped})) all.push_back(step);
      const int collected = schedule.wait(setting.synchronising_s, std::move(all));
      for (int a = 0; a < aggregators; ++a) stores.push_back(store(a, {collected}));
      before = {schedule.wait(setting.synchronising_s, std::move(stores))};
    }
    return simulate(schedule).end_s;
  }
  const int dumped = dump(1, {});
  for (int a = 0; a < aggregators; ++a) {
    std::vector<int> stores;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::vector<int> after{dumped};
      if (round >= 2) after.push_back(stores[round - 2]);
      stores.push_back(store(a, collect(a, after)));
    }
  }
  return simulate(schedule).end_s;
}

double two_phase_s(const Setting& setting) {
  const Job job{.machine = &setting.machine,
                .nodes = nodes,
                .ranks_per_node = ranks_per_node,
                .workload = "array1d",
                .parameters = {{"bytes", std::to_string(rank_bytes)}}};
  TwoPhase scheme;
  for (int a = 0; a < aggregators; ++a)
    scheme.aggregator_nodes.push_back(a % nodes);  // two thirds of the data come from other nodes
  scheme.buffer_bytes = static_cast<std::uint64_t>(setting.buffer_bytes);
  scheme.peer_s = setting.synchronising_s / job.ranks();
  Schedule schedule{setting.machine};
  for (int node = 0; node < nodes; ++node) store_way(schedule, setting.machine, node);
  schedule_two_phase(schedule, job, scheme);
  return simulate(schedule).end_s;
}

Findings run(const Assumptions& assumed, Scope) {
  Machine machine = stored_machine("cooley").value();
  machine.storage.write.value = machine.storage.read.value = assumed["bandwidth of GPFS"] * 1e9;
  const Setting setting{machine, assumed["bandwidth of a device"] * 1e9, assumed["synchronising the ranks"] * 1e-3,
                        assumed["buffer of an aggregator"] * 1e6};
  const double two = two_phase_s(setting), in_step = three_phase_s(setting, true), free = three_phase_s(setting, false);
  return {{{"two phases, in step", {}, two},
           {"three phases, in step", {}, in_step, 0},
           {"three phases, one synchronisation", {}, free, 0}},
          {{"three phases with one synchronisation are faster than three in step", free < in_step},
           {"they are faster than two phases in step", free < two}}};
}

}  // namespace

Experiment remote_memory_cooley() {
  return {
      .name = "remote-memory-cooley",
      .title = "Two and three phases with remote memory on Cooley",
      .source = "RAN, synchronous and asynchronous three-phase collective write (its figures are lost)",
      .unit = "s",
      .modelled =
          "Three nodes of 12 ranks with 512 MB each, nine aggregators, three devices of network-attached memory. Two "
          "phases: as "
          "ROMIO, in step. Three phases: dump to the devices, collect, write; in step as in the paper's first version, "
          "or with "
          "one synchronisation and writing overlapped with collecting as in its second.",
      .remarks =
          "A dump sends all data over the nodes' links once more, so three phases win only where synchronising or not "
          "overlapping costs more than that: the assumed time of a synchronisation and the size of buffers decide.",
      .assumptions = {{{"bandwidth of a device", 7, "GB/s", "assumed: one FDR InfiniBand port", {}},
                       {"synchronising the ranks",
                        5,
                        "ms",
                        "assumed: with the waiting for the slowest; the document only says that it dominates",
                        {}},
                       {"buffer of an aggregator", 16, "MB", "assumed", {}},
                       {"bandwidth of GPFS", 90, "GB/s", "assumed as in the stored machine", {}}}},
      .run = run};
}

}  // namespace weir::sim

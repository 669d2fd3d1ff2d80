#include <fmt/format.h>

#include <algorithm>

#include "experiment.hpp"
#include "machine/stored.hpp"
#include "timing.hpp"

namespace weir::sim {
namespace {

constexpr int aggregators_a_pset = 4;        // GLEAN: best for most sizes
constexpr int mpiio_aggregators_a_pset = 8;  // GLEAN: what MPI-IO uses, the first nodes of a pset
constexpr double aggregator_bytes = 16e6;
constexpr int small_kib = 2;
constexpr double near_constant = 1.1;

/// The first nodes of every pset, one of each pset after another: so parts of the file are aggregated in other psets.
std::vector<int> interleaved(int nodes, int pset) {
  std::vector<int> order;
  for (int k = 0; k < mpiio_aggregators_a_pset; ++k)
    for (int first = 0; first < nodes; first += pset) order.push_back(first + k);
  return order;
}

Job job_of(const Machine& machine, int cores, int kib, int nodes_a_file) {
  return {.machine = &machine,
          .nodes = cores / machine.ranks_per_node,
          .ranks_per_node = machine.ranks_per_node,
          .workload = "array1d",
          .parameters = {{"bytes", std::to_string(kib * 1024)}},
          .nodes_a_file = nodes_a_file};
}

Findings run(const Assumptions& assumed, Scope scope) {
  Machine machine = stored_machine("intrepid").value();
  machine.storage = {};  // GLEAN measured the way to the I/O nodes
  machine.io.latency.value = assumed["latency to an I/O node"] * 1e-6;
  const int pset = machine.io.group;
  Findings findings;
  bool constant = true, faster = true;
  double small_gain = 0;
  const std::vector<int> messages = scope == Scope::all ? std::vector{small_kib, 64, 4096} : std::vector{small_kib, 64};
  const std::vector<int> sizes = scope == Scope::all ? std::vector{4096, 16384, 65536} : std::vector{4096, 16384};
  for (const int kib : messages) {
    double least = 0, most = 0;
    for (const int cores : sizes) {
      const Job confined = job_of(machine, cores, kib, pset);
      const double ours =
          planned_s(confined, limits_of(aggregators_a_pset * confined.nodes / pset, 2, aggregator_bytes),
                    Software{assumed["software of a round"] * 1e-3, {}});
      least = least == 0 ? ours : std::min(least, ours);
      most = std::max(most, ours);
      const std::string name = fmt::format("{} KiB, {}K cores", kib, cores / 1024);
      findings.cases.push_back({name + ", confined to psets", {}, ours * 1e3});
      TwoPhase scheme;
      scheme.aggregator_nodes = interleaved(confined.nodes, pset);
      scheme.buffer_bytes = static_cast<std::uint64_t>(aggregator_bytes);
      scheme.peer_s = assumed["a peer in an all-to-all"] * 1e-6;
      const double theirs = two_phase_s(job_of(machine, cores, kib, 0), scheme);
      findings.cases.push_back({name + ", all to all", {}, theirs * 1e3, static_cast<int>(findings.cases.size()) - 1});
      faster = faster && ours < theirs;
      if (kib == small_kib) small_gain = theirs / ours;
    }
    constant = constant && most <= near_constant * least;
  }
  findings.claims = {
      {"confined to psets, time stays within 10 % when the job grows and data a process does not", constant},
      {"confined to psets is faster for every size of message", faster},
      {"at least 10 times faster for the smallest messages on the largest job (paper: up to 400)", small_gain >= 10}};
  return findings;
}

}  // namespace

Experiment psets_intrepid() {
  return {.name = "psets-intrepid",
          .title = "Aggregation inside psets and all to all on Intrepid, by size of message",
          .source = "GLEAN, its figures 3 and 7, of which only the text is left",
          .unit = "ms",
          .modelled =
              "4 processes a node, data a process as told, to the I/O nodes. Inside psets: Weir's plan of one file a "
              "pset with four "
              "aggregators each. All to all: MPI-IO's eight aggregators a pset, the first nodes of each, whose parts "
              "of the file go "
              "round all psets; offsets and sizes are exchanged among all processes first.",
          .remarks =
              "For small messages what decides is the cost of a peer in the exchange among all processes, for large "
              "ones the "
              "torus between psets. The paper's factor of up to 400 does not come out with the assumed cost of a peer; "
              "its 30 "
              "times over POSIX is about calls, not about flows, and is not simulated. The sweep goes up to 16K cores "
              "and 64 KiB.",
          .assumptions = {{{"a peer in an all-to-all", 1, "us", "assumed: what a process spends on each other one", {}},
                           {"latency to an I/O node", 5, "us", "assumed as in the stored machine", {}},
                           {"software of a round", 0.5, "ms", "assumed", {}}}},
          .run = run};
}

}  // namespace weir::sim

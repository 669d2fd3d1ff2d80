#include <fmt/format.h>

#include "experiment.hpp"
#include "machine/stored.hpp"
#include "timing.hpp"

namespace weir::sim {
namespace {

constexpr int nodes = 1024, ranks_per_node = 16;
constexpr std::uint64_t bytes_a_rank = 1'000'000;

struct Setting {
  int aggregators_a_pset;
  double buffer_mb;
  double paper;
};
// TAPIOCA, "I/O Bandwidth (in MBps) achieved on a simple benchmark".
constexpr Setting settings[] = {{8, 8, 7652.49},  {8, 16, 8848.28},  {8, 32, 9050.71},
                                {16, 8, 7318.15}, {16, 16, 8774.58}, {16, 32, 9331.84},
                                {32, 8, 6329.95}, {32, 16, 7797.12}, {32, 32, 8134.41}};

Findings run(const Assumptions& assumed, Scope) {
  Machine machine = stored_machine("mira").value();
  machine.storage = {};  // the null device of the I/O nodes
  const Job job{.machine = &machine,
                .nodes = nodes,
                .ranks_per_node = ranks_per_node,
                .workload = "array1d",
                .parameters = {{"bytes", std::to_string(bytes_a_rank)}}};
  const int psets = nodes / machine.io.group;
  Findings findings;
  for (const auto& [aggregators, megabytes, paper] : settings) {
    const Software software{assumed["software of a round"] * 1e-3, {}};
    const double seconds = planned_s(job, limits_of(aggregators * psets, 2, megabytes * 1e6), software);
    findings.cases.push_back({fmt::format("{} a pset, {:.0f} MB", aggregators, megabytes), paper,
                              static_cast<double>(bytes_a_rank * nodes * ranks_per_node) / seconds / 1e6});
  }
  const auto speed = [&](int row, int column) {
    return findings.cases[static_cast<std::size_t>(3 * row + column)].simulated;
  };
  bool larger_is_faster = true;
  for (int row = 0; row < 3; ++row)
    larger_is_faster =
        larger_is_faster && speed(row, 1) >= speed(row, 0) * 0.99 && speed(row, 2) >= speed(row, 1) * 0.99;
  findings.claims = {{"larger buffers are not slower", larger_is_faster},
                     {"32 aggregators a pset are slower than 16, for every size of buffer",
                      speed(2, 0) < speed(1, 0) && speed(2, 1) < speed(1, 1) && speed(2, 2) < speed(1, 2)}};
  return findings;
}

}  // namespace

Experiment buffers_mira() {
  return {.name = "buffers-mira",
          .title = "Aggregators per pset and size of buffers on 1,024 nodes of Mira",
          .source = "TAPIOCA, number of aggregators and buffer size",
          .unit = "MB/s",
          .modelled =
              "16,384 ranks write 1 MB each to the null device of the I/O nodes; Weir plans and places, each "
              "aggregator has "
              "two buffers.",
          .remarks =
              "The flows alone nearly fill all bridges (32 GB/s) whatever is set, and larger buffers lose a little, "
              "since filling the "
              "first and storing the last overlap with nothing; what the paper shows is software for each round and "
              "aggregator, of which the simulation has only the one assumed figure. So the paper's absolute bandwidth "
              "and the "
              "size of its differences do not come out.",
          .assumptions =
              {{{"software of a round", 1, "ms", "assumed: synchronising and starting the write of one buffer", {}}}},
          .run = run};
}

}  // namespace weir::sim

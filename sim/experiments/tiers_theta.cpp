#include <algorithm>
#include <cmath>

#include "theta.hpp"

namespace weir::sim {
namespace {

constexpr int nodes = 128, aggregators = 48, buffers = 3;
constexpr double buffer_bytes = 16e6, cut_bytes = 32e6;

struct Run {
  const char* name;
  std::vector<const char*> cut;
  const char* expected;
  double paper;
};
// MA-TAPIOCA, table 7.
const Run runs[] = {{"all capacities", {}, "hbm", 4.86},
                    {"HBM of 32 MB", {"hbm"}, "dram", 4.90},
                    {"HBM and DRAM of 32 MB", {"hbm", "dram"}, "ssd", 2.98}};

Findings run(const Assumptions& assumed, Scope) {
  Findings findings;
  bool as_expected = true;
  for (const Run& each : runs) {
    Machine machine = theta_machine(assumed);
    for (Bank& bank : machine.banks) {
      if (std::ranges::count(each.cut, bank.name) > 0) bank.capacity.value = cut_bytes;
      if (bank.name == "ssd") bank.write.value = bank.read.value = assumed["bandwidth of an SSD"] * 1e6;
    }
    const Job job{.machine = &machine,
                  .nodes = nodes,
                  .ranks_per_node = 2,
                  .workload = "s3d",
                  .parameters = {{"block", "32x32x32"}}};
    const PlannedJob planned =
        plan_job(job, limits_of(aggregators, buffers, buffer_bytes), rules_of(Strategy::contention));
    std::string chosen = machine.banks[planned.layout.placement.banks.front()].name;
    as_expected = as_expected && chosen == each.expected;
    findings.cases.push_back({std::string{each.name} + ": " + chosen, each.paper,
                              static_cast<double>(planned.layout.bytes) / planned_s(planned) / 1e9});
  }
  const auto speed = [&](std::size_t k) { return findings.cases[k].simulated; };
  findings.claims = {{"HBM, then DRAM, then the SSD is chosen", as_expected},
                     {"HBM and DRAM are equally fast within 5 %", std::abs(speed(0) / speed(1) - 1) < 0.05},
                     {"the SSD is slower", speed(2) < speed(1) * 0.95}};
  return findings;
}

}  // namespace

Experiment tiers_theta() {
  std::vector<Assumption> assumptions = theta_assumptions();
  assumptions.push_back({"bandwidth of an SSD", 400, "MB/s", "assumed as in the stored machine", {}});
  return {.name = "tiers-theta",
          .title = "Choice of the memory tier and fallback on Theta, S3D-IO",
          .source = "MA-TAPIOCA, table 7",
          .unit = "GB/s",
          .modelled =
              "128 nodes and 48 aggregators, half of the paper's, 16 doubles a point, aggregators with three buffers "
              "of 16 MB; capacities of banks cut "
              "as in the paper. Two ranks a node instead of 16, since ranks of a node send as one, and an eighth of "
              "the paper's points a node.",
          .remarks =
              "The choice and its order come out. All bandwidths are above the paper's: the stored machine's Lustre "
              "and gateways "
              "are assumed, and software is not modelled.",
          .assumptions = {std::move(assumptions)},
          .run = run};
}

}  // namespace weir::sim

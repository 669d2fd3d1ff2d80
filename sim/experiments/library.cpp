#include <fmt/format.h>

#include <algorithm>

#include "experiment.hpp"
#include "library_run.hpp"
#include "machine/stored.hpp"
#include "timing.hpp"

namespace weir::sim {
namespace {

struct Setting {
  const char* name;
  const char* machine;
  int nodes, ranks_per_node;
  const char* workload;
  bench::Parameters parameters;
  int aggregators;
};

/// Both ways of simulating one plan.
struct Both {
  LibraryRun library;
  std::uint64_t plan = 0;
  Outcome flows;
};

constexpr double margin = 0.25;

std::vector<Setting> settings_to_try() {
  const char* torus = "torus 2x2x2 link 1GBps latency 1us gateway every 8 bridges 1 bridge 1GBps storage lustre 4GBps";
  const char* tree = "fattree 4x4 link 2GBps latency 1us gateway every 16 bridges 2 bridge 2GBps storage lustre 8GBps";
  return {{"torus 2x2x2, hacc soa", torus, 8, 2, "hacc", {{"layout", "soa"}, {"particles", "25000"}}, 2},
          {"torus 2x2x2, s3d", torus, 8, 2, "s3d", {{"block", "16x16x16"}}, 4},
          {"fat tree 4x4, array1d", tree, 16, 2, "array1d", {{"sizes", "random"}, {"bytes", "400000"}}, 4}};
}

Both simulate_both(const Setting& setting, double buffer_bytes) {
  const std::string buffer = std::to_string(static_cast<std::uint64_t>(buffer_bytes));
  Both both;
  both.library = run_library({setting.machine,
                              setting.nodes,
                              setting.ranks_per_node,
                              setting.workload,
                              setting.parameters,
                              {{"plan.mode", "aggregate"},
                               {"plan.aggregators", std::to_string(setting.aggregators)},
                               {"plan.buffers", "2"},
                               {"plan.buffer_size", buffer}}});
  const Machine machine = find_machine(setting.machine).value();
  const Job job{.machine = &machine,
                .nodes = setting.nodes,
                .ranks_per_node = setting.ranks_per_node,
                .workload = setting.workload,
                .parameters = setting.parameters};
  const PlannedJob planned =
      plan_job(job, limits_of(setting.aggregators, 2, buffer_bytes), rules_of(Strategy::contention));
  Schedule schedule{machine};
  schedule_plan(schedule, planned);
  both.plan = planned.layout.hash;
  both.flows = simulate(schedule);
  return both;
}

Findings run(const Assumptions& assumed, Scope) {
  Findings findings;
  bool same_plan = true, same_bytes = true;
  double furthest = 1;
  for (const Setting& setting : settings_to_try()) {
    const Both both = simulate_both(setting, assumed["size of a buffer"] * (1 << 20));
    same_plan = same_plan && both.library.plan == both.plan;
    same_bytes = same_bytes && both.library.carried == both.flows.carried;
    const double ratio = both.library.write_s / both.flows.end_s;
    furthest = std::max({furthest, ratio, 1 / ratio});
    const int base = static_cast<int>(findings.cases.size());
    findings.cases.push_back({fmt::format("{}: flows", setting.name), {}, both.flows.end_s * 1e3});
    findings.cases.push_back({fmt::format("{}: library", setting.name), {}, both.library.write_s * 1e3, base});
  }
  findings.claims = {{"both have the same plan", same_plan},
                     {"both bring the same bytes over every link", same_bytes},
                     {fmt::format("their times are within {:.0f} %", margin * 100), furthest <= 1 + margin}};
  return findings;
}

}  // namespace

Experiment library() {
  return {"library",
          "The library itself under SimGrid's MPI, beside the flows of its plan",
          "no paper: how far the simulations of this page can be trusted",
          "ms",
          "The same sources as on a real machine, compiled with SimGrid's MPI: contexts, declarations, plans, buffers "
          "and messages are real, and what is read is compared with what was written. Links, gateways and the storage "
          "take time; computing and copying take none. A step that was planned before is timed.",
          "The library also exchanges a few small messages in every step, and looks for what has come every 2 us.",
          {{{"size of a buffer", 1, "MiB", "chosen", {0.25, 4}}}},
          run};
}

}  // namespace weir::sim

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <random>

#include "bench_common.hpp"
#include "core/stopwatch.hpp"
#include "core/units.hpp"
#include "machine/stored.hpp"
#include "model/election.hpp"
#include "model/machine_rule.hpp"
#include "plan/plan.hpp"
#include "resident_memory.hpp"
#include "statistics.hpp"
#include "text_table.hpp"
#include "weir/weir.hpp"

namespace weir::tools {
namespace {

struct PlacementBenchOptions {
  std::string machine = "mira";
  std::vector<int> nodes{1024, 2048, 4096, 8192};
  std::vector<int> aggregators{48, 96, 192, 384};
  std::vector<std::string> models{"tapioca", "ma-tapioca", "weir"};
  int ranks_per_node = 16;
  int runs = 5;
  std::string layout = "order";
  std::string json;
};

struct Cost {
  std::string model;
  int nodes = 0, aggregators = 0;
  double median_s = 0;
  std::uint64_t peak_bytes = 0;
  double plan_s = 0;  ///< of a whole plan: whether and how to aggregate, domains, election, explanation
};

template <class Work>
double median_s(int runs, Work&& work) {
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) {
    const Stopwatch watch;
    work();
    times.push_back(watch.seconds());
  }
  return bench::median(times);
}

/// What all ranks announce: up to 2 MB each, in one piece in their order, or in nine variables one after another.
std::vector<Footprint> announced(int ranks, bool in_order) {
  std::mt19937_64 random{1};
  std::uniform_int_distribution<std::uint64_t> any{1, 2'000'000 / 9};
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(ranks));
  for (auto& each : bytes) each = any(random);
  const std::uint64_t all = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  std::vector<Footprint> footprints;
  std::uint64_t at = 0;
  for (const std::uint64_t each : bytes) {
    Declaration declaration;
    if (in_order) declaration.variable(std::vector<Run>{{9 * at, 9 * each}});
    for (std::uint64_t v = 0; !in_order && v < 9; ++v) declaration.variable(std::vector<Run>{{v * all + at, each}});
    footprints.push_back(Footprint::of(RankDeclaration::of(declaration).value(), footprint_limit(ranks)));
    at += each;
  }
  return footprints;
}

double plan_s(const Machine& machine, Strategy strategy, int nodes, int aggregators,
              const PlacementBenchOptions& options) {
  const NodeMap map = NodeMap::blocks(nodes * options.ranks_per_node, options.ranks_per_node);
  const std::vector<Footprint> footprints = announced(map.ranks(), options.layout == "order");
  const MachineRule rule{machine};
  PlanRequest request;
  request.nodes = &map;
  request.limits.aggregators = static_cast<std::uint32_t>(aggregators);
  request.limits.mode = PlanLimits::Prefer::aggregate;
  request.storage.local = false;
  request.model = &rule;
  request.machine = &machine;
  request.rules.strategy = strategy;
  return median_s(options.runs, [&] { (void)plan_layout(footprints, {}, request).value(); });
}

/// As a rank would elect: the problem is there, memory counts what the election adds.
Cost measure(const Machine& machine, const std::string& model, int nodes, int aggregators, const PlacementBenchOptions& options) {
  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> any{0, 2e6 * options.ranks_per_node};
  std::vector<double> bytes(static_cast<std::size_t>(nodes));
  for (double& each : bytes) each = any(random);
  PlacementProblem problem;
  problem.machine = &machine;
  problem.job_nodes = nodes;
  problem.traffic = options.layout == "order" ? traffic_in_order(bytes, aggregators) : traffic_spread(bytes, aggregators);
  const Strategy strategy = parse_strategy(model).value();
  const bench::ResidentMemory memory;
  const double median = median_s(options.runs, [&] { elect(problem, strategy).value(); });
  const std::uint64_t peak = memory.peak_growth();
  return {model, nodes, aggregators, median, peak, plan_s(machine, strategy, nodes, aggregators, options)};
}

void run_placement_bench(const PlacementBenchOptions& options) {
  const Machine machine = find_machine(options.machine).value();
  std::vector<Cost> costs;
  for (const std::string& model : options.models)
    for (const int nodes : options.nodes)
      for (const int aggregators : options.aggregators)
        if (nodes <= machine.nodes()) costs.push_back(measure(machine, model, nodes, aggregators, options));
  std::vector<std::vector<std::string>> lines{
      {"model", "ranks", "nodes", "aggregators", "election", "memory", "whole plan"}};
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Cost& cost : costs) {
    const long ranks = static_cast<long>(cost.nodes) * options.ranks_per_node;
    lines.push_back({cost.model, std::to_string(ranks), std::to_string(cost.nodes), std::to_string(cost.aggregators),
                     format_seconds(cost.median_s), format_bytes(cost.peak_bytes), format_seconds(cost.plan_s)});
    results.push_back({{"model", cost.model},
                       {"ranks", ranks},
                       {"nodes", cost.nodes},
                       {"aggregators", cost.aggregators},
                       {"median_s", cost.median_s},
                       {"peak_memory_bytes", cost.peak_bytes},
                       {"plan_median_s", cost.plan_s}});
  }
  print_results(options.json,
                fmt::format("elections and plans on {}, each made by one process alone, median of {}\n\n{}",
                            machine.name, options.runs, bench::aligned(lines)),
                {{"weir", version()}, {"machine", machine.name}, {"layout", options.layout}, {"results", results}});
}

}  // namespace

void add_bench_placement(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand("placement", "what it costs to elect aggregators; starts no job");
  const auto options = std::make_shared<PlacementBenchOptions>();
  const auto add = [&](const std::string& name, auto& value, const std::string& meaning) {
    return command->add_option(name, value, meaning)->capture_default_str();
  };
  std::vector<std::string> models;
  for (const Strategy strategy : strategies) models.emplace_back(name(strategy));
  add("--machine", options->machine, "a stored machine's name, a description file, or a short text");
  add("--nodes", options->nodes, "of the job, a list; those beyond the machine's are left out")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  add("--aggregators", options->aggregators, "a list")->delimiter(',')->check(CLI::Range(1, 1 << 20));
  add("--model", options->models, "a list")->delimiter(',')->check(CLI::IsMember(models));
  add("--layout", options->layout, "data in the order of the nodes, or each node's spread over the whole file")
      ->check(CLI::IsMember({"order", "spread"}));
  add("--ranks-per-node", options->ranks_per_node, "to be told beside the nodes")->check(CLI::Range(1, 4096));
  add("--runs", options->runs, "of each")->check(CLI::Range(1, 1000));
  add("--json", options->json, json_meaning);
  command->footer(R"(Examples:
  weir bench placement
  weir bench placement --machine theta --nodes 1024 --layout spread)");
  command->callback([options] { telling_errors([&] { run_placement_bench(*options); }); });
}

}  // namespace weir::tools

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <random>

#include "bench_common.hpp"
#include "core/units.hpp"
#include "machine/stored.hpp"
#include "model/election.hpp"
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
};

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
  std::vector<double> times;
  const bench::ResidentMemory memory;
  for (int run = 0; run < options.runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    elect(problem, strategy).value();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return {model, nodes, aggregators, bench::median(times), memory.peak_growth()};
}

void run_placement_bench(const PlacementBenchOptions& options) {
  const Machine machine = find_machine(options.machine).value();
  std::vector<Cost> costs;
  for (const std::string& model : options.models)
    for (const int nodes : options.nodes)
      for (const int aggregators : options.aggregators)
        if (nodes <= machine.nodes()) costs.push_back(measure(machine, model, nodes, aggregators, options));
  std::vector<std::vector<std::string>> lines{{"model", "ranks", "nodes", "aggregators", "time", "memory"}};
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Cost& cost : costs) {
    const long ranks = static_cast<long>(cost.nodes) * options.ranks_per_node;
    lines.push_back({cost.model, std::to_string(ranks), std::to_string(cost.nodes), std::to_string(cost.aggregators),
                     format_seconds(cost.median_s), format_bytes(cost.peak_bytes)});
    results.push_back({{"model", cost.model},
                       {"ranks", ranks},
                       {"nodes", cost.nodes},
                       {"aggregators", cost.aggregators},
                       {"median_s", cost.median_s},
                       {"peak_memory_bytes", cost.peak_bytes}});
  }
  print_results(options.json,
                fmt::format("elections on {}, each made by one process alone, median of {}\n\n{}", machine.name,
                            options.runs, bench::aligned(lines)),
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

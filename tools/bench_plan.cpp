#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench_common.hpp"
#include "planning_cost.hpp"

namespace weir::tools {
namespace {

struct PlanBenchOptions {
  std::vector<std::uint64_t> pieces{10'000, 100'000, 1'000'000, 10'000'000};
  std::vector<std::string> patterns;
  int ranks = 16;
  int nodes = 1;
  std::string operation = "write";
  std::string json;
  std::vector<std::string> settings;
};

void run_plan_bench(const PlanBenchOptions& options) {
  bench::PlanningRequest request{.ranks = options.ranks,
                                 .nodes = std::min(options.nodes, options.ranks),
                                 .read = options.operation == "read",
                                 .settings = pairs_of(options.settings, "--set")};
  request.settings.emplace("plan.mode", "aggregate");
  std::vector<bench::Pattern> patterns;
  for (const bench::Pattern& pattern : bench::pattern_table())
    if (options.patterns.empty() || std::ranges::find(options.patterns, pattern.name) != options.patterns.end())
      patterns.push_back(pattern);

  const Progress progress;
  double all = 0, done = 0;
  for (const std::uint64_t pieces : options.pieces) all += static_cast<double>(pieces * patterns.size());
  std::vector<bench::PlanningCost> costs;
  for (const bench::Pattern& pattern : patterns)
    for (const std::uint64_t pieces : options.pieces) {
      progress.show(fmt::format("{}: {} pieces", pattern.name, pieces), done / all);
      costs.push_back(bench::planning_cost(pattern, pieces, request));
      done += static_cast<double>(pieces);
    }
  progress.clear();
  print_results(options.json, bench::table(costs, request), bench::to_json(costs, request));
}

}  // namespace

void add_bench_plan(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand("plan", "what planning costs, by the number of pieces; starts no job");
  const auto options = std::make_shared<PlanBenchOptions>();
  std::vector<std::string> names;
  std::string meanings = "Patterns:\n";
  for (const bench::Pattern& pattern : bench::pattern_table()) {
    names.push_back(pattern.name);
    meanings += fmt::format("  {:<12} {}\n", pattern.name, pattern.meaning);
  }
  const auto add = [&](const std::string& name, auto& value, const std::string& meaning) {
    return command->add_option(name, value, meaning)->capture_default_str();
  };
  add("--pieces", options->pieces, "pieces of all ranks together, a list")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000'000));
  add("--pattern", options->patterns, "some of the patterns below, a list; all when not given")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  add("--ranks", options->ranks, "ranks to plan for")->check(CLI::Range(1, 100'000));
  add("--nodes", options->nodes, "nodes that they are on, in blocks")->check(CLI::Range(1, 100'000));
  add("--operation", options->operation, "write or read")->check(CLI::IsMember({"write", "read"}));
  add("--json", options->json, json_meaning);
  add("--set", options->settings, "a setting of Weir, key=value; may be repeated (plan.mode is aggregate unless set)")
      ->take_all();
  command->footer(meanings + R"(
Examples:
  weir bench plan
  weir bench plan --pattern irregular --pieces 1000000 --nodes 4 --set plan.aggregators=16 --json -)");
  command->callback([options] { telling_errors([&] { run_plan_bench(*options); }); });
}

}  // namespace weir::tools

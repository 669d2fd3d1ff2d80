#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>

#include "baseline.hpp"
#include "bench_box.hpp"
#include "bench_common.hpp"
#include "bench_job.hpp"
#include "box/box.hpp"
#include "commands.hpp"
#include "core/errors.hpp"
#include "core/settings.hpp"
#include "launch.hpp"
#include "memory_server_process.hpp"
#include "preload.hpp"
#include "results.hpp"
#include "machine/posix_traits.hpp"
#include "model/election.hpp"

namespace weir::tools {
namespace {

struct BenchOptions {
  std::string workload;
  bench::Parameters parameters;
  std::string operation = "both";
  std::vector<std::string> against;
  int pairs = 15;
  int ranks = 16;
  int nodes = 0;
  double budget_s = 300;
  std::string directory;
  bool existing = false;
  std::string json;
  std::vector<std::string> settings;
  std::vector<std::string> hints;
  std::string launcher;
  std::string tier;
  BoxChoice box;
  std::string through = "library";
};

/// Ways to choose aggregators other than its own that Weir can be compared with.
std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const Strategy strategy : strategies)
    if (strategy != Strategy::contention) names.emplace_back(name(strategy));
  return names;
}

/// Those asked for, or all that can be had, and the control.
std::vector<bench::Baseline> chosen_baselines(const std::vector<std::string>& names, const std::string& tier) {
  std::vector<bench::Baseline> chosen;
  if (std::ranges::find(names, "dram") != names.end() || (names.empty() && !tier.empty() && tier != "dram"))
    chosen.push_back({"dram", {}, {}});
  if (std::ranges::find(names, "sketch") != names.end()) chosen.push_back({"sketch", {}, {}});
  for (const bench::Baseline& baseline : bench::find_baselines()) {
    const bool named = std::ranges::find(names, baseline.name) != names.end();
    if (named && !baseline.absent.empty())
      throw Error{problem(Code::unsupported, fmt::format("cannot compare with {}: {}", baseline.name, baseline.absent),
                          "leave it out of --against")};
    if (named || (names.empty() && baseline.absent.empty())) chosen.push_back(baseline);
  }
  for (const std::string& model : model_names())
    if (std::ranges::find(names, model) != names.end()) chosen.push_back({model, {}, {}});
  chosen.push_back({"weir", {}, {}});
  return chosen;
}

/// What the launcher needs for ranks whose MPI-IO is taken over, with these settings.
std::vector<std::string> run_arguments(const Settings& settings) {
  const std::string library = preload_library();
  if (library.empty())
    throw Error{problem(Code::not_found, "cannot compare through run: libweir_mpiio.so is not beside libweir.so",
                        "install it there")};
  std::vector<std::string> arguments = give_variable("LD_PRELOAD", preload_value(library));
  for (const auto& [key, value] : settings)
    for (std::string& word : give_variable(environment_name(key), value)) arguments.push_back(std::move(word));
  return arguments;
}

std::vector<std::string> job_command(const BenchOptions& options, const bench::Baseline& baseline,
                                     const box::State* box, const std::vector<std::string>& preload) {
  if (box != nullptr) {
    std::vector<std::string> words = preload;
    words.insert(words.end(), baseline.flags.begin(), baseline.flags.end());
    words.insert(words.end(), {"-n", std::to_string(options.ranks), worker_path()});
    return box::launch_command(*box, "openmpi", words);
  }
  auto command = bench::launcher(options.launcher, options.ranks);
  command.insert(command.begin() + 1, baseline.flags.begin(), baseline.flags.end());
  command.insert(command.begin() + 1, preload.begin(), preload.end());
  command.push_back(worker_path());
  return command;
}

/// On the hosts of a box, or on this machine.
bench::Results run_all(const BenchOptions& options, const box::State* box) {
  bench::Results results;
  results.workload = bench::make_workload(options.workload, options.parameters, options.ranks).value();
  Settings settings = bench_settings(options.settings, options.ranks, options.nodes);
  const auto baselines = chosen_baselines(options.against, options.tier);
  const Scratch scratch{box != nullptr ? box->file_system() : options.directory, "--dir"};
  results.file_system = posix_traits(scratch.path()).file_system;
  if (box != nullptr) {
    results.wire_bytes_per_s = storage_links(*box);
    results.link_bytes_per_s = box->cluster().storage_rate().bytes_per_s;
    results.box = box_facts(*box);
    const box::Order& order = box->order();
    results.file_system = fmt::format("{} in a box ({}, {})", order.storage, order.topology, order.rate);
  }
  std::optional<ServerProcess> server;
  if (!options.tier.empty()) settings["memory.tier"] = options.tier;
  if (options.tier == "remote" && !settings.contains("remote.contact")) {
    server.emplace(scratch.path(), 4 * results.workload.file_bytes + (std::uint64_t{64} << 20));
    settings["remote.contact"] = server->contact();
  }
  results.request = {.workload = options.workload,
                     .parameters = options.parameters,
                     .baseline = {},
                     .operations = options.operation == "both" ? std::vector<std::string>{"write", "read"}
                                                               : std::vector<std::string>{options.operation},
                     .directory = scratch.path(),
                     .existing = options.existing,
                     .pairs = options.pairs,
                     .budget_s = 0,
                     .seed = std::random_device{}(),
                     .settings = settings,
                     .hints = pairs_of(options.hints, "--hint"),
                     .through_run = options.through == "run"};
  if (box != nullptr) results.request.devices_to_storage = devices_to_storage(*box);

  bench::catch_interrupts();
  const Progress progress;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < baselines.size() && !bench::interrupted(); ++i) {
    const std::chrono::duration<double> used = std::chrono::steady_clock::now() - start;
    results.request.baseline = baselines[i].name;
    results.request.budget_s =
        std::max(0.0, (options.budget_s - used.count()) / static_cast<double>(baselines.size() - i));
    const auto preload = results.request.through_run ? run_arguments(settings) : std::vector<std::string>{};
    const std::size_t steps = results.request.through_run ? 1 : 2;
    run_worker(baselines[i].name, job_command(options, baselines[i], box, preload),
               steps * results.request.operations.size(), progress, results);
  }
  progress.clear();
  return results;
}

void run_bench(const BenchOptions& options, const box::State* box) {
  const bench::Results results = run_all(options, box);
  print_results(options.json, bench::table(results), bench::to_json(results));
  set_exit_code(results.right() ? 0 : 1);
}

void add_workload(CLI::App& command, const bench::WorkloadKind& kind, const std::shared_ptr<BenchOptions>& options) {
  CLI::App* workload = command.add_subcommand(kind.name, kind.meaning);
  for (const auto& parameter : kind.parameters) {
    workload
        ->add_option_function<std::string>(
            "--" + parameter.name,
            [options, name = parameter.name](const std::string& value) { options->parameters[name] = value; },
            parameter.meaning)
        ->default_str(parameter.default_value);
  }
  const std::string group = "Options of all workloads";
  const auto add = [&](const std::string& name, auto& value, const std::string& meaning) {
    return workload->add_option(name, value, meaning)->capture_default_str()->group(group);
  };
  add("--operation", options->operation, "write, read or both")->check(CLI::IsMember({"write", "read", "both"}));
  std::vector<std::string> others{"romio", "ompio", "posix", "sketch", "dram"};
  for (const std::string& model : model_names()) others.push_back(model);
  add("--against", options->against,
      "romio, ompio, posix, all that can be had when not given, and then with --tier also dram: Weir without that tier; "
      "sketch: the least that a program on one node must do; or ways to choose aggregators: " +
          fmt::format("{}", fmt::join(model_names(), ", ")))
      ->delimiter(',')
      ->check(CLI::IsMember(others));
  add("--pairs", options->pairs, "pairs of a Weir and a baseline run")->check(CLI::Range(3, 100'000));
  add("--ranks", options->ranks, "MPI ranks")->check(CLI::Range(1, 1'000'000));
  add("--nodes", options->nodes, "pretend that the ranks are on so many nodes")->check(CLI::Range(1, 1'000'000));
  add("--budget", options->budget_s, "seconds for everything; fewer pairs, at least 3, when they do not suffice")
      ->check(CLI::NonNegativeNumber);
  add("--dir", options->directory, "where to make a directory for the files (TMPDIR, else the working directory)")
      ->check(CLI::ExistingDirectory);
  add("--through", options->through,
      "who moves the data for Weir: a program that uses the library, or one that calls MPI-IO, one call a variable, under "
      "weir run")
      ->check(CLI::IsMember({"library", "run"}));
  add("--tier", options->tier, "memory for aggregation, as the setting memory.tier; for remote a server is started here");
  workload->add_flag("--existing", options->existing, "overwrite a file in place instead of making a new one")
      ->group(group);
  add("--json", options->json, json_meaning);
  add("--set", options->settings, "a setting of Weir, key=value; may be repeated")->take_all();
  add("--hint", options->hints, "an MPI-IO hint for the baselines, key=value; may be repeated")->take_all();
  add("--mpirun", options->launcher, "another launcher with its arguments, without the number of ranks");
  add("--box", options->box.box, "in a cluster in a box: one that is up, or a topology as for `weir box up`");
  add("--rate", options->box.rate, "of the links of a box that is brought up for this, as for `weir box up`");
  workload->callback([options, name = kind.name] {
    options->workload = name;
    telling_errors([&] {
      if (options->box.box.empty()) return run_bench(*options, nullptr);
      in_box(options->box, [&](const box::State& state) { run_bench(*options, &state); });
    });
  });
}

}  // namespace

void add_bench(CLI::App& program) {
  CLI::App* command = program.add_subcommand("bench", "Weir side by side with MPI-IO and POSIX, verified; the cost of planning");
  command->require_subcommand(1);
  const auto options = std::make_shared<BenchOptions>();
  for (const bench::WorkloadKind& kind : bench::workload_table()) add_workload(*command, kind, options);
  add_bench_plan(*command);
  add_bench_placement(*command);
  add_bench_workflow(*command);
  add_bench_ran(*command);
}

}  // namespace weir::tools

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <random>

#include "baseline.hpp"
#include "bench_common.hpp"
#include "bench_job.hpp"
#include "commands.hpp"
#include "core/errors.hpp"
#include "launch.hpp"
#include "machine/posix_traits.hpp"

namespace weir::tools {
namespace {

struct WorkflowBenchOptions {
  std::string workload = "hacc";
  std::vector<std::string> parameters;
  int pairs = 15;
  int ranks = 16;
  int readers = 8;
  int nodes = 2;
  double budget_s = 300;
  std::string directory, node_directory = "/dev/shm";
  std::string json;
  std::vector<std::string> settings;
  std::string launcher;
};

void run_workflow_bench(const WorkflowBenchOptions& options) {
  if (options.readers > options.ranks || options.readers < options.nodes)
    throw Error{problem(
        Code::invalid,
        fmt::format("cannot have {} readers on {} nodes of {} ranks", options.readers, options.nodes, options.ranks),
        "give --readers at least as many as --nodes and at most as many as --ranks")};
  bench::Results results;
  const auto parameters = pairs_of(options.parameters, "--parameter");
  auto workload = bench::make_workload(options.workload, parameters, options.ranks);
  if (!workload) throw Error{workload.status()};
  results.workload = std::move(*workload);
  const std::string worker = worker_path();
  const Scratch scratch{options.directory, "--dir"}, nodes{options.node_directory, "--node-dir"};
  Settings settings = bench_settings(options.settings, options.ranks, options.nodes);
  settings["memory.node_directory"] = nodes.path() + "/{node}";
  results.file_system = fmt::format("{}, the nodes' storage on {}", posix_traits(scratch.path()).file_system,
                                    posix_traits(nodes.path()).file_system);
  results.request = {.workload = options.workload,
                     .parameters = parameters,
                     .baseline = "file-system",
                     .operations = {},
                     .directory = scratch.path(),
                     .pairs = options.pairs,
                     .budget_s = options.budget_s,
                     .seed = std::random_device{}(),
                     .settings = settings,
                     .hints = {},
                     .readers = options.readers};
  bench::catch_interrupts();
  const Progress progress;
  auto command = bench::launcher(options.launcher, options.ranks);
  command.push_back(worker);
  run_worker("file-system", command, 3, progress, results);
  progress.clear();
  const std::string meaning = fmt::format(
      "a file is written by {} ranks on storage of {} nodes, read there by {} ranks, and drained to the file system;\n"
      "baseline: the same through the file system, and for the drain a write that ends when the data is durable\n\n",
      options.ranks, options.nodes, options.readers);
  print_results(options.json, meaning + bench::table(results), bench::to_json(results));
  set_exit_code(results.right() ? 0 : 1);
}

}  // namespace

void add_bench_workflow(CLI::App& bench) {
  CLI::App* command =
      bench.add_subcommand("workflow", "a file from job to job on storage of the nodes, beside the file system");
  const auto options = std::make_shared<WorkflowBenchOptions>();
  const auto add = [&](const std::string& name, auto& value, const std::string& meaning) {
    return command->add_option(name, value, meaning)->capture_default_str();
  };
  add("--workload", options->workload, "what is written: a workload of `weir bench`");
  add("--parameter", options->parameters, "one of the workload's, key=value; may be repeated")->take_all();
  add("--ranks", options->ranks, "MPI ranks that write")->check(CLI::Range(1, 1'000'000));
  add("--readers", options->readers, "of them, ranks that read")->check(CLI::Range(1, 1'000'000));
  add("--nodes", options->nodes, "pretend that the ranks are on so many nodes")->check(CLI::Range(1, 1'000'000));
  add("--dir", options->directory, "the file system: where to make a directory (TMPDIR, else the working directory)")
      ->check(CLI::ExistingDirectory);
  add("--node-dir", options->node_directory, "storage of the nodes: where to make a directory")
      ->check(CLI::ExistingDirectory);
  add("--pairs", options->pairs, "of a run through the nodes and one through the file system")
      ->check(CLI::Range(3, 100'000));
  add("--budget", options->budget_s, "seconds; fewer pairs, at least 3, when they do not suffice")
      ->check(CLI::NonNegativeNumber);
  add("--json", options->json, json_meaning);
  add("--set", options->settings, "a setting of Weir, key=value; may be repeated")->take_all();
  add("--mpirun", options->launcher, "another launcher with its arguments, without the number of ranks");
  command->footer(R"(Examples:
  weir bench workflow
  weir bench workflow --parameter particles=25000 --parameter layout=aos --node-dir /local/scratch)");
  command->callback([options] { telling_errors([&] { run_workflow_bench(*options); }); });
}

}  // namespace weir::tools

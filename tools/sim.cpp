#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "bench_common.hpp"
#include "commands.hpp"
#include "core/errors.hpp"
#include "report.hpp"

namespace weir::tools {
namespace {

struct SimOptions {
  std::string name;
  bool list = false;
  bool sweep = false;
  std::string json;
  std::string svg;
  std::string markdown;
};

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file{path};
  file << text;
  file.close();
  if (!file) throw Error{system_problem(errno, fmt::format("write '{}'", path))};
}

std::string listed() {
  std::string text;
  for (const sim::Experiment& each : sim::experiments()) text += fmt::format("{:<22} {}\n", each.name, each.title);
  return text;
}

void run_sim(const SimOptions& options) {
  if (options.list) return fmt::print("{}", listed());
  if (options.name.empty())
    throw Error{problem(Code::invalid, "no experiment is named", "`weir sim --list` lists them")};
  const sim::Experiment& experiment = sim::find_experiment(options.name);
  sim::Report report{&experiment, experiment.run(experiment.assumptions, sim::Scope::all), {}};
  if (options.sweep) report.variations = sim::sweep(experiment);
  if (!options.svg.empty()) write_file(options.svg, report.svg());
  if (!options.markdown.empty()) write_file(options.markdown, report.markdown("papers/" + experiment.name + ".svg"));
  print_results(options.json, report.text(), report.json());
}

}  // namespace

void add_sim(CLI::App& program) {
  CLI::App* command = program.add_subcommand("sim", "a paper's experiment on its machine, simulated; needs no MPI job");
  const auto options = std::make_shared<SimOptions>();
  command->add_option("NAME", options->name, "one of the experiments below");
  command->add_flag("--list", options->list, "the experiments");
  command->add_flag("--sweep", options->sweep, "again with every assumption halved and doubled: which claims survive");
  command->add_option("--json", options->json, json_meaning);
  command->add_option("--svg", options->svg, "a plot, into a file");
  command->add_option("--markdown", options->markdown, "the same as a section of a page, into a file");
  command->footer("Experiments:\n" + listed() + R"(
Flows of Weir's own plan share links in SimGrid, a fluid model: times are relative and not calibrated.

Examples:
  weir sim placement-mira
  weir sim placement-mira --sweep --svg placement.svg --json placement.json)");
  command->callback([options] { telling_errors([&] { run_sim(*options); }); });
}

}  // namespace weir::tools

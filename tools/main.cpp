#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>
#include <weir/weir.hpp>

#include "commands.hpp"
#include "core/nearest.hpp"

namespace weir::tools {
namespace {

constexpr std::array commands{add_info, add_machine, add_plan, add_run, add_bench, add_sim, add_box, add_drain, add_memory};
int code_to_exit_with = 0;

constexpr const char* examples = R"(Examples:
  weir info                        all settings, their values and where they come from
  WEIR_PLAN_BUFFERS=3 weir info    the same with one of them changed
  weir info --json                 for programs
  weir run -n 16 ./app             an unmodified MPI program
  weir machine mira                a machine: network, ways out, memory, storage
  weir sim placement-mira          a paper's experiment, simulated
  weir box up                      a cluster in a box, for tests
  weir COMMAND --help              what a command can do

Settings come from weir.toml in the working directory (or the file that WEIR_CONFIG names), then from WEIR_... in the
environment. Exit codes: 0 done, 1 the work failed, 2 wrong use or settings.)";

// CLI11 would only say that a command is required.
bool is_unknown_command(const CLI::App& program, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  if (name.starts_with('-') || std::ranges::find(names, name) != names.end()) return false;
  fmt::print(stderr, "weir: unknown command '{}'\n      did you mean '{}'? `weir --help` lists all commands\n", name,
             nearest(name, names));
  return true;
}

}  // namespace

void set_exit_code(int code) noexcept { code_to_exit_with = code; }
int exit_code() noexcept { return code_to_exit_with; }

int run(int argc, char** argv) {
  CLI::App program{"Weir moves the data of MPI programs to and from files.", "weir"};
  program.set_version_flag("--version", std::string{"weir "} + version());
  program.require_subcommand(1);
  program.get_formatter()->column_width(32);
  program.footer(examples);
  for (const auto add : commands) add(program);
  if (argc > 1 && is_unknown_command(program, argv[1])) return 2;
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  return exit_code();
}

}  // namespace weir::tools

int main(int argc, char** argv) {
  try {
    return weir::tools::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

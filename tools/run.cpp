#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>
#include <weir/weir.hpp>

#include "commands.hpp"
#include "executable.hpp"
#include "preload.hpp"

namespace weir::tools {
namespace {

namespace fs = std::filesystem;

/// The MPI that this Weir was built with, and how its programs and its launcher are recognised.
#ifdef OPEN_MPI
constexpr const char* mpi = "Open MPI";
constexpr std::array own_libraries{"libmpi.so.40", "libmpi.so.80"};
#else
constexpr const char* mpi = "MPICH";
constexpr std::array own_libraries{"libmpich.so.12", "libmpi.so.12"};
#endif

bool is_mpi_library(const std::string& name) {
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so");
}

/// Why a program's accesses cannot be taken over, as far as its file tells.
std::string refusal(const Executable& program) {
  if (!program.linked_dynamically)
    return fmt::format(
        "weir: cannot take over '{}': it is linked statically\n"
        "      link it dynamically, or with -lweir_mpiio before the MPI library",
        program.path);
  for (const std::string& library : program.libraries)
    if (is_mpi_library(library) && std::ranges::find(own_libraries, library) == own_libraries.end())
      return fmt::format(
          "weir: cannot take over '{}': it uses {}, and this Weir was built with {} ({})\n"
          "      use the weir that was built with the program's MPI",
          program.path, library, mpi, own_libraries.front());
  return {};
}

/// The program among the launcher's arguments: the first word that is one. Values of options rarely are.
std::optional<Executable> program_in(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.starts_with('-')) continue;
    if (const auto path = find_program(word)) return Executable::read(*path);
  }
  return {};
}

std::vector<std::string> environment_arguments(const std::string& library) {
  std::vector<std::string> arguments = preload_arguments(library);
  for (char** entry = environ; *entry; ++entry) {
    const std::string variable{*entry};
    const auto equals = variable.find('=');
    if (!variable.starts_with("WEIR_") || equals == std::string::npos) continue;
    for (std::string& word : give_variable(variable.substr(0, equals), variable.substr(equals + 1)))
      arguments.push_back(std::move(word));
  }
  return arguments;
}

/// Becomes the launcher; returns only what went wrong.
std::string launch(const std::string& launcher, const std::vector<std::string>& words) {
  if (words.empty()) return "weir: cannot run: no program is given\n      for example: weir run -n 16 ./app";
  const auto program = program_in(words);
  if (program)
    if (const std::string why = refusal(*program); !why.empty()) return why;
  const std::string library = preload_library();
  if (library.empty()) return "weir: cannot run: libweir_mpiio.so is not beside libweir.so\n      install it there";
  std::vector<std::string> command{launcher};
  for (const std::string& word : environment_arguments(library)) command.push_back(word);
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return fmt::format("weir: cannot start '{}': {}\n      name another with --launcher", launcher, std::strerror(errno));
}

}  // namespace

void add_run(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("run", "an unmodified MPI program with its collective file access through Weir");
  const auto launcher = std::make_shared<std::string>(WEIR_MPIEXEC);
  command->add_option("--launcher", *launcher, "the mpirun of the program's MPI")->capture_default_str();
  command->prefix_command();
  command->footer(R"(All that follows goes to the launcher.
Examples:
  weir run -n 16 ./app input.nml
  WEIR_EXPLAIN=1 weir run -n 16 ./app     what was taken over, for each file, when it is closed)");
  command->callback([command, launcher] {
    fmt::print(stderr, "{}\n", launch(*launcher, command->remaining()));
    set_exit_code(2);
  });
}

}  // namespace weir::tools

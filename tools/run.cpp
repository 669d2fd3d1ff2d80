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
auto program_in(const std::vector<std::string>& words) {
  return std::ranges::find_if(words, [](const auto& word) { return !word.starts_with('-') && find_program(word); });
}

bool is_named(const std::string& launcher, const char* name) {
  const std::string file = fs::path{launcher}.filename();
  return file == name || file.starts_with(std::string{name} + ".");
}
bool is_slurm(const std::string& launcher) { return is_named(launcher, "srun"); }
bool is_launcher(const std::string& word) {
  return is_slurm(word) || is_named(word, "mpirun") || is_named(word, "mpiexec") || is_named(word, "orterun") ||
         is_named(word, "prterun");
}

std::vector<std::string> environment_arguments(const std::string& launcher, const std::string& library) {
  if (is_slurm(launcher)) return {"--export=ALL,LD_PRELOAD=" + preload_value(library)};
  std::vector<std::string> arguments = give_variable("LD_PRELOAD", preload_value(library));
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
std::string launch(std::string launcher, std::vector<std::string> words) {
  if (!words.empty() && is_launcher(words.front())) {
    launcher = words.front();
    words.erase(words.begin());
  }
  if (words.empty()) return "weir: cannot run: no program is given\n      for example: weir run -n 16 ./app";
  const auto program = program_in(words);
  if (program != words.end())
    if (const auto executable = Executable::read(*find_program(*program)))
      if (const std::string why = refusal(*executable); !why.empty()) return why;
  const std::string library = preload_library();
  if (library.empty()) return "weir: cannot run: libweir_mpiio.so is not beside libweir.so\n      install it there";
  if (is_slurm(launcher) &&
      std::any_of(words.cbegin(), program, [](const auto& w) { return w.starts_with("--export"); }))
    return fmt::format(
        "weir: cannot run: srun has no room for Weir's library beside your --export\n"
        "      leave out weir run, and add LD_PRELOAD={} there",
        library);
  std::vector<std::string> command{launcher};
  for (const std::string& word : environment_arguments(launcher, library)) command.push_back(word);
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
  command->add_option("--launcher", *launcher, "the mpirun of the program's MPI, or srun")->capture_default_str();
  command->prefix_command();
  command->footer(R"(All that follows goes to the launcher.
Examples:
  weir run -n 16 ./app input.nml
  weir run mpirun -n 16 ./app input.nml   the same, with the launcher that is named first; srun as well
  WEIR_EXPLAIN=1 weir run -n 16 ./app     what was taken over, for each file, when it is closed)");
  command->callback([command, launcher] {
    fmt::print(stderr, "{}\n", launch(*launcher, command->remaining()));
    set_exit_code(2);
  });
}

}  // namespace weir::tools

#include "worker_process.hpp"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "child.hpp"
#include "core/errors.hpp"

namespace weir::sim {
namespace {

/// No simulation that is asked for here takes as long.
constexpr double longest_silence_s = 900;

std::string found(const std::string& name) {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
  return std::filesystem::exists(beside) ? beside.string() : WEIR_SIM_WORKERS "/" + name;
}

}  // namespace

bool has_simulator() noexcept { return WEIR_HAVE_SIMGRID; }

std::string run_worker(const std::string& name, const std::vector<std::string>& words, const std::string& input) {
  if (!has_simulator())
    throw Error{problem(Code::unsupported, "cannot simulate: this build is without SimGrid",
                        "install SimGrid (libsimgrid-dev), then configure and build again")};
  std::vector<std::string> command{found(name)};
  command.insert(command.end(), words.begin(), words.end());
  bench::Child child{command};
  std::signal(SIGPIPE, SIG_IGN);
  child.give(input);
  std::string text;
  for (auto got = bench::Child::Got::text; got == bench::Child::Got::text;) {
    got = child.read(text, longest_silence_s);
    if (got == bench::Child::Got::nothing) child.end();
  }
  if (const int status = child.wait(); status != 0)
    throw Error{problem(Code::internal, fmt::format("the simulator ended with status {}", status))};
  return text;
}

}  // namespace weir::sim

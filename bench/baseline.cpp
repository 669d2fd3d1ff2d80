#include "baseline.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <sstream>

namespace weir::bench {
namespace {

#ifdef OPEN_MPI

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{::popen(command.c_str(), "r"), ::pclose};
  std::string text;
  char part[4096];
  for (std::size_t got = 0; pipe && (got = std::fread(part, 1, sizeof part, pipe.get())) > 0;) text.append(part, got);
  return text;
}

/// The name of Open MPI's io component that starts so ("romio321"), or nothing.
std::string component(const std::string& components, const std::string& prefix) {
  const std::string key = "mca:io:" + prefix;
  const std::size_t at = components.find(key);
  if (at == std::string::npos) return {};
  const std::size_t from = at + key.size() - prefix.size();
  return components.substr(from, components.find(':', from) - from);
}

Baseline mpiio(const std::string& name, const std::string& components) {
  const std::string found = component(components, name);
  if (found.empty()) return {name, {}, "this Open MPI has no io component '" + name + "'"};
  return {name, {"--mca", "io", found}, {}};
}

#endif

}  // namespace

std::vector<Baseline> find_baselines() {
#ifdef OPEN_MPI
  const auto info = std::filesystem::path{WEIR_MPIEXEC}.replace_filename("ompi_info").string();
  const std::string components = output_of("'" + info + "' --parsable 2>/dev/null");
  return {mpiio("romio", components), mpiio("ompio", components), {"posix", {}, {}}};
#else
  return {{"romio", {}, {}},
          {"ompio", {}, "it is a part of Open MPI, and Weir was built with another MPI"},
          {"posix", {}, {}}};
#endif
}

std::vector<std::string> launcher(const std::string& given, int ranks) {
  std::vector<std::string> command;
  if (given.empty()) {
    command = {WEIR_MPIEXEC};
#ifdef OPEN_MPI
    for (const char* flag : {"--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"})
      command.emplace_back(flag);
    if (::geteuid() == 0) {
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
      ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
#endif
  } else {
    std::istringstream words{given};
    command.assign(std::istream_iterator<std::string>{words}, {});
  }
  command.emplace_back(WEIR_MPIEXEC_RANKS);
  command.push_back(std::to_string(ranks));
  return command;
}

}  // namespace weir::bench

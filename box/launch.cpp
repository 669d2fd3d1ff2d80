#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "box/box.hpp"
#include "core/errors.hpp"

extern char** environ;

namespace weir::box {
namespace {

/// The number of ranks among a launcher's arguments, before the program; the number of hosts when none is given.
int ranks_of(const std::vector<std::string>& words, int hosts) {
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    if (words[i] != "-n" && words[i] != "-np" && words[i] != "--np" && words[i] != "-c") continue;
    int ranks = 0;
    const auto [end, error] = std::from_chars(words[i + 1].data(), words[i + 1].data() + words[i + 1].size(), ranks);
    if (error != std::errc{} || *end != '\0' || ranks < 1)
      throw Error{problem(Code::invalid, fmt::format("'{} {}' is no number of ranks", words[i], words[i + 1]))};
    return ranks;
  }
  return hosts;
}

/// Ranks in blocks: the first ones on the first host.
std::string host_list(const std::vector<std::string>& hosts, int ranks) {
  std::vector<std::string> list;
  const int count = static_cast<int>(hosts.size());
  for (int i = 0; i < count; ++i)
    if (const int here = ranks / count + (i < ranks % count); here > 0)
      list.push_back(fmt::format("{}:{}", hosts[static_cast<std::size_t>(i)], here));
  return fmt::format("{}", fmt::join(list, ","));
}

/// Settings of Weir in the environment, and the description of the box unless another machine was named; without those
/// that the words name already.
std::vector<std::string> settings_for_ranks(const State& state, const std::vector<std::string>& words) {
  std::vector<std::string> found;
  if (std::getenv("WEIR_MACHINE_DESCRIPTION") == nullptr)
    found.push_back("WEIR_MACHINE_DESCRIPTION=" + state.description());
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "WEIR_", 5) == 0) found.emplace_back(*entry);
  std::erase_if(found, [&](const std::string& variable) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    return std::ranges::any_of(words, [&](const std::string& word) { return word.starts_with(name); });
  });
  return found;
}

std::vector<std::string> open_mpi(const State& state, const std::string& hosts) {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  std::vector<std::string> command{"mpirun.openmpi", "--host", hosts, "--bind-to", "none"};
  const std::pair<const char*, std::string> parameters[] = {
      {"plm_rsh_agent", state.path("agent")},
      {"plm_rsh_no_tree_spawn", "1"},
      {"oob_tcp_if_include", Cluster::management_network},
      {"oob_tcp_keepalive_time", "5"},  // a host that is cut off is noticed in 8 s
      {"oob_tcp_keepalive_intvl", "1"},
      {"oob_tcp_keepalive_probes", "3"},
      {"btl_tcp_if_include", Cluster::network},
      {"btl", "tcp,vader,self"},
      {"pml", "ob1"},
      {"osc", "^ucx"},
      {"mpi_yield_when_idle", "1"}};
  for (const auto& [name, value] : parameters) command.insert(command.end(), {"--mca", name, value});
  return command;
}

std::vector<std::string> mpich(const State& state, const std::string& hosts) {
  const Cluster& cluster = state.cluster();
  return {"mpiexec.mpich",
          "-hosts",
          hosts,
          "-launcher",
          "rsh",
          "-launcher-exec",
          state.path("agent"),
          "-localhost",
          cluster.management_address(cluster.find("fe")),
          "-genv",
          "UCX_NET_DEVICES",
          "id0",
          "-genv",
          "UCX_TLS",
          "tcp,self"};
}

}  // namespace

std::vector<std::string> launch_command(const State& state, const std::string& mpi,
                                        const std::vector<std::string>& words) {
  const auto hosts = state.cluster().names(Role::compute);
  const std::string list = host_list(hosts, ranks_of(words, static_cast<int>(hosts.size())));
  std::vector<std::string> command = mpi == "mpich" ? mpich(state, list) : open_mpi(state, list);
  if (find_program(command.front()).empty())
    throw Error{problem(Code::not_found, fmt::format("cannot find the launcher '{}'", command.front()),
                        fmt::format("install {}, or choose another with --mpi", mpi))};
  for (const std::string& variable : settings_for_ranks(state, words)) {
    const std::size_t equals = variable.find('=');
    if (mpi == "mpich")
      command.insert(command.end(), {"-genv", variable.substr(0, equals), variable.substr(equals + 1)});
    else
      command.insert(command.end(), {"-x", variable});
  }
  const auto dashes = std::ranges::find(words, "--");
  command.insert(command.end(), words.begin(), dashes);
  if (dashes != words.end()) command.insert(command.end(), dashes + 1, words.end());
  return command;
}

}  // namespace weir::box

#include "engine/detect_machine.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

#include "core/errors.hpp"
#include "remote/server_bank.hpp"

namespace weir {
namespace {

constexpr const char* action = "detect the machine";

/// On rank 0 what every node sent, one after another, and where each begins.
struct Gathered {
  std::vector<std::byte> bytes;
  std::vector<int> sizes, starts;

  [[nodiscard]] std::span<const std::byte> of(std::size_t node) const {
    return std::span{bytes}.subspan(static_cast<std::size_t>(starts[node]), static_cast<std::size_t>(sizes[node]));
  }
};

Result<Gathered> gather(Team& team, const std::vector<std::byte>& mine) {
  Gathered all;
  const MPI_Comm leaders = team.leaders() == MPI_COMM_NULL ? MPI_COMM_SELF : team.leaders();  // rank 0 of one node
  const bool collects = team.rank() == 0;
  Status ready = attempt(action, [&]() -> Status {
    if (collects) {
      all.sizes.resize(static_cast<std::size_t>(team.nodes().nodes()));
      all.starts.resize(all.sizes.size());
    }
    return {};
  });
  if (Status status = team.agreed(ready); !status.ok()) return status;
  const int size = static_cast<int>(mine.size());
  if (team.leader()) MPI_Gather(&size, 1, MPI_INT, all.sizes.data(), 1, MPI_INT, 0, leaders);
  ready = attempt(action, [&]() -> Status {
    if (!collects) return {};
    std::uint64_t total = 0;
    for (std::size_t node = 0; node < all.sizes.size(); ++node) {
      all.starts[node] = static_cast<int>(total);
      total += static_cast<std::uint64_t>(all.sizes[node]);
      if (total > INT_MAX) return problem(Code::unsupported, "cannot detect a machine of so many nodes");
    }
    all.bytes.resize(total);
    return {};
  });
  if (Status status = team.agreed(ready); !status.ok()) return status;
  if (team.leader())
    MPI_Gatherv(mine.data(), size, MPI_BYTE, all.bytes.data(), all.sizes.data(), all.starts.data(), MPI_BYTE, 0,
                leaders);
  return all;
}

Status join_gathered(const Gathered& all, Writer& to) {
  std::vector<NodeFacts> nodes;
  nodes.reserve(all.sizes.size());
  for (std::size_t node = 0; node < all.sizes.size(); ++node) {
    Reader reader{all.of(node)};
    nodes.push_back(load_node_facts(reader));
    if (!reader.ok()) return problem(Code::internal, "cannot detect the machine: a node's facts arrived incomplete");
  }
  store(to, join(nodes));
  return {};
}

}  // namespace

DetectOptions detect_options(const ResolvedSettings& settings, std::string storage_path) {
  DetectOptions options;
  options.storage_path = std::move(storage_path);
  options.node_directories = split_directories(settings.text("memory.node_directory"));
  return options;
}

int most_ranks_on_a_node(const Team& team) noexcept {
  std::size_t most = 0;
  for (const auto& ranks : team.nodes().ranks_on) most = std::max(most, ranks.size());
  return static_cast<int>(most);
}

namespace {

/// What memory servers have, as rank 0 sees them. Collective.
void look_for_servers(Team& team, const RemoteOptions& options, JoinedNodes& nodes) {
  if (options.contact.empty()) return;
  std::uint64_t bytes = 0;
  if (team.rank() == 0) {
    const Status status = attempt(action, [&]() -> Status {
      auto servers = connect_remote_memory(options);
      if (!servers) return servers.status();
      auto capacity = (*servers)->capacity();
      if (capacity) bytes = *capacity;
      return capacity.status();
    });
    if (!status.ok()) nodes.common.warnings.push_back(status.message());
  }
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, team.communicator());
  if (bytes > 0) nodes.servers.push_back(bank_of_servers(static_cast<double>(bytes) / nodes.nodes));
}

}  // namespace

Result<JoinedNodes> detect_nodes(Team& team, const DetectOptions& options, const RemoteOptions& servers) {
  team.connect();
  Writer mine, joined;
  Status status = attempt(action, [&]() -> Status {
    if (!team.leader()) return {};
    DetectOptions here = options;
    here.node = team.node();
    auto facts = detect_node(here);
    if (facts) store(mine, *facts);
    return facts.status();
  });
  if (status = team.agreed(status); !status.ok()) return status;
  auto all = gather(team, mine.data());
  if (!all) return all.status();
  status = attempt(action, [&] { return team.rank() == 0 ? join_gathered(*all, joined) : Status{}; });
  if (status = team.agreed(status); !status.ok()) return status;

  std::uint64_t size = joined.data().size();
  MPI_Bcast(&size, 1, MPI_UINT64_T, 0, team.communicator());
  std::vector<std::byte> bytes;
  JoinedNodes nodes;
  status = attempt(action, [&]() -> Status {
    bytes = joined.data();
    bytes.resize(size);
    return {};
  });
  if (status = team.agreed(status); !status.ok()) return status;
  MPI_Bcast(bytes.data(), static_cast<int>(size), MPI_BYTE, 0, team.communicator());
  status = attempt(action, [&]() -> Status {
    Reader reader{bytes};
    nodes = load_joined_nodes(reader);
    return reader.ok() ? Status{} : problem(Code::internal, "cannot detect the machine: it arrived incomplete");
  });
  if (status = team.agreed(status); !status.ok()) return status;
  look_for_servers(team, servers, nodes);
  return nodes;
}

Result<Machine> detect_machine(Team& team, const DetectOptions& options) {
  auto nodes = detect_nodes(team, options);
  if (!nodes) return nodes.status();
  Machine machine;
  const Status status = attempt(action, [&]() -> Status {
    machine = machine_of(*nodes, most_ranks_on_a_node(team));
    return {};
  });
  if (Status all = team.agreed(status); !all.ok()) return all;
  return machine;
}

}  // namespace weir

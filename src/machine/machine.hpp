#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/topology.hpp"

namespace weir {

/// How long what is in a bank stays there.
enum class Persistency : std::uint8_t { none, process, job, permanent };
/// Who can reach it.
enum class Scope : std::uint8_t { process, node, network };

std::string_view name(Persistency persistency) noexcept;
std::string_view name(Scope scope) noexcept;
std::optional<Persistency> parse_persistency(std::string_view text) noexcept;
std::optional<Scope> parse_scope(std::string_view text) noexcept;

/// Memory that can hold aggregation buffers; every node has one of each.
struct Bank {
  std::string name;
  std::string kind;  ///< "hbm", "dram", "nvram", "nvme", "ssd", "hdd", "remote"
  Capacity capacity;
  Latency latency;
  Bandwidth read;
  Bandwidth write;
  Persistency persistency = Persistency::none;
  Scope scope = Scope::node;
  std::string path;  ///< directory of a bank on node-local storage

  /// Memory of other nodes: buffers cannot lie there, steps in three phases go through it.
  [[nodiscard]] bool is_remote() const noexcept { return kind == "remote" || scope == Scope::network; }
  bool operator==(const Bank&) const = default;
};

/// How data leaves the nodes for the storage.
struct IoAccess {
  int group = 0;               ///< consecutive nodes that share a gateway (pset); 0: all nodes
  std::vector<int> bridges;    ///< positions in a group where data leaves the network; none: every node has a way of its own
  Bandwidth bridge_bandwidth;  ///< of one such way
  Bandwidth gateway_bandwidth; ///< of a group's gateway
  Latency latency;             ///< from a bridge to the storage
  std::vector<int> hops;       ///< of each node to the storage, when somebody counted them

  bool operator==(const IoAccess&) const = default;
};

struct FileSystem {
  std::string kind;  ///< "gpfs", "lustre", "ext4", "null", ...
  std::string path;
  Bandwidth read;    ///< of all clients together
  Bandwidth write;
  Latency latency;
  Latency call;      ///< for how long a call keeps it busy, besides its bytes: those of all clients take turns
  Capacity block;
  Capacity stripe;
  Capacity free;

  bool operator==(const FileSystem&) const = default;
};

/// What was moved in the experiment that a stored machine is known for.
struct Experiment {
  std::vector<double> bytes;      ///< of each process; or
  double most_bytes = 0;          ///< uniformly random up to this
  int ranks_per_node = 1;
  int aggregators = 1;
  int buffers = 2;
  double buffer_bytes = 0;
  /// What was reached, by the name of the model that placed the aggregators.
  std::map<std::string, Bandwidth, std::less<>> published;

  bool operator==(const Experiment&) const = default;
};

/// Where a machine's counts come from, which are no figures with a unit.
struct Origins {
  Provenance ranks_per_node;
  Provenance topology;  ///< its lengths, switches or hops
  Provenance group;
  Provenance bridges;
  Provenance hops;  ///< to the storage
  Provenance experiment;

  bool operator==(const Origins&) const = default;
};

/// A computer as the models see it. A value: detected, read from a description, or written as a short text.
struct Machine {
  std::string name;
  std::string about;
  int ranks_per_node = 1;
  TopologyPtr topology;
  IoAccess io;
  FileSystem storage;
  std::vector<Bank> banks;  ///< fastest first by convention
  std::optional<Experiment> experiment;
  Origins origins;

  [[nodiscard]] int nodes() const noexcept { return topology->nodes(); }
  [[nodiscard]] int group_size() const noexcept { return io.group > 0 ? io.group : nodes(); }
  [[nodiscard]] int groups() const noexcept { return (nodes() + group_size() - 1) / group_size(); }
  [[nodiscard]] const Bank* bank(std::string_view bank_name) const noexcept;
  /// Of memory servers, if there is one.
  [[nodiscard]] const Bank* server_bank() const noexcept;

  /// Links of the topology, then those towards the storage: a bridge's own way, a gateway, the file system.
  [[nodiscard]] int links() const noexcept;
  [[nodiscard]] double link_bandwidth(int link) const;  ///< infinite where nothing is known
  [[nodiscard]] double link_latency(int link) const;
  [[nodiscard]] std::string_view link_class(int link) const;
  /// Appends the links from a node to the storage; reading takes the same ones backwards.
  void route_to_storage(int node, std::vector<int>& links) const;
  /// What comes from there may take other links than what goes there.
  void route_from_storage(int node, std::vector<int>& links) const;
  [[nodiscard]] int hops_to_storage(int node) const;
  /// The node where a node's data leaves the network.
  [[nodiscard]] int bridge_of(int node) const;

  friend bool operator==(const Machine& a, const Machine& b);
};

}  // namespace weir

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "box/rate.hpp"
#include "machine/machine.hpp"

namespace weir::box {

enum class Role { compute, storage, router, front };

/// A host of a box: its name and what it is for.
struct Host {
  std::string name;
  Role role = Role::compute;

  [[nodiscard]] bool is_in_network() const noexcept { return role != Role::front; }
};

/// A link between two hosts, by their numbers.
struct Wire {
  int a = 0, b = 0;
};

/// What a box shall be.
struct Shape {
  std::string topology =
      "torus";  ///< "torus", "torus:STORAGE", "dragonfly", "dragonfly:STORAGE", "star:COMPUTE:STORAGE"
  Rates rates;
};

/// Hosts, links, addresses and routes of a box. A value: nothing is made yet.
///
/// Hosts are the compute hosts c0, c1, ..., which are the nodes of the machine in this order, storage hosts s0, s1,
/// ..., in a star the router r0, and the front end fe, where jobs are launched. Between compute hosts the routes are
/// those of the machine's topology; a storage host is a leaf of the network.
class Cluster {
 public:
  /// Throws `Error` when the topology is no topology.
  static Cluster make(const Shape& shape);

  [[nodiscard]] const std::vector<Host>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] const std::vector<Wire>& wires() const noexcept { return wires_; }
  /// Of the link between two neighbours, and of those of storage hosts.
  [[nodiscard]] const Rate& rate(int host, int neighbour) const noexcept {
    return is_storage(host) || is_storage(neighbour) ? rates_.of_storage : rates_.among_hosts;
  }
  [[nodiscard]] const Rate& storage_rate() const noexcept { return rates_.of_storage; }
  [[nodiscard]] std::vector<std::string> names(Role role) const;
  /// Throws `Error` and names those there are when there is none of this name.
  [[nodiscard]] int find(std::string_view name) const;

  /// The host to which data for `to` goes next.
  [[nodiscard]] int next(int from, int to) const {
    return next_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  /// The hosts on the way, without the first.
  [[nodiscard]] std::vector<int> path(int from, int to) const;

  [[nodiscard]] std::string address(int host) const;             ///< which other hosts reach over the links
  [[nodiscard]] std::string management_address(int host) const;  ///< which launchers use
  [[nodiscard]] std::string link_address(int host, int neighbour) const;
  [[nodiscard]] std::string device(int neighbour) const {
    return "to_" + hosts_[static_cast<std::size_t>(neighbour)].name;
  }
  static constexpr const char* network = "10.77.255.0/24";
  static constexpr const char* management_network = "10.77.254.0/24";

  /// For /etc/hosts.
  [[nodiscard]] std::string host_table() const;

  /// As Weir describes machines: what the models need to know of these links and ways to the storage.
  [[nodiscard]] const Machine& machine() const noexcept { return machine_; }

 private:
  void add_hosts(Role role, const char* prefix, int count);
  void join(int a, int b);
  /// Links and routes among the compute hosts, as the topology has them.
  void take_routes(const Topology& topology);
  void attach_storage(int count);
  void make_star(int compute, int storage);

  [[nodiscard]] bool is_storage(int host) const noexcept {
    return hosts_[static_cast<std::size_t>(host)].role == Role::storage;
  }

  Rates rates_;
  std::vector<Host> hosts_;
  std::vector<Wire> wires_;
  std::vector<std::vector<int>> next_;
  Machine machine_;
};

}  // namespace weir::box

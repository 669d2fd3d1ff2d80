#pragma once

#include <string>
#include <vector>

#include "box/cluster.hpp"
#include "box/process.hpp"

namespace weir::box {

/// What a box was asked to be.
struct Order {
  std::string name = "box";
  std::string topology = "torus";
  std::string rate = "200mbit";
  std::string storage = "cephfs";    ///< or "none"
  std::uint64_t stripe = 256 << 10;  ///< bytes of a file on one storage host before the next
  bool weak = false;                 ///< a second mount, with the page cache of each host, which nobody keeps coherent
};

/// The directory of a box: what it was asked to be, and every process that was started for it. All else that a box is
/// (links, mounts, addresses) is in namespaces, and goes when the last of these processes does.
class State {
 public:
  /// Throws `Error` when there is a box of this name, or anything else in its place.
  static State make(const Order& order);
  /// Throws `Error` when there is none.
  static State find(const std::string& name);
  /// Names of all that are up, or were left half made.
  static std::vector<std::string> names();

  [[nodiscard]] const Order& order() const noexcept { return order_; }
  [[nodiscard]] const Cluster& cluster() const noexcept { return cluster_; }
  [[nodiscard]] std::string path(const std::string& file) const { return directory_ + "/" + file; }
  [[nodiscard]] std::string file_system() const { return path("fs"); }
  [[nodiscard]] std::string weak_file_system() const { return path("weak"); }
  [[nodiscard]] std::string description() const { return path("machine.toml"); }
  [[nodiscard]] std::string launcher(const std::string& mpi) const { return path("mpirun." + mpi); }
  /// Whether all of it is there: `up` came to its end.
  [[nodiscard]] bool complete() const;
  void set_complete() const;

  void write(const std::string& file, const std::string& text, bool program = false) const;
  void add_host(const std::string& host, const ProcessId& process) const;
  [[nodiscard]] ProcessId host(const std::string& host) const;
  void add_launch(const ProcessId& process) const;
  [[nodiscard]] std::vector<ProcessId> launches() const;
  /// The directory goes with all that is in it.
  void remove() const;

 private:
  State(std::string directory, Order order);

  std::string directory_;
  Order order_;
  Cluster cluster_;
};

}  // namespace weir::box

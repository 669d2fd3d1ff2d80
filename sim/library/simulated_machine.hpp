#pragma once

#include <map>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <vector>

#include "machine/storage_traits.hpp"
#include "model/flows.hpp"

namespace weir::sim {

/// A machine's nodes and its storage as hosts, with the routes and the resources that the cost models use.
class SimulatedMachine final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  explicit SimulatedMachine(const Machine& machine);

  [[nodiscard]] simgrid::s4u::Host* node(int number) const { return nodes_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] simgrid::s4u::Host* storage() const { return storage_; }
  [[nodiscard]] StorageTraits storage_traits() const;
  [[nodiscard]] int number(const simgrid::s4u::Host* node) const;

  /// Counts bytes that went from one host to another.
  void carried(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to, std::uint64_t bytes);
  [[nodiscard]] const std::map<int, std::uint64_t>& bytes_by_resource() const { return bytes_; }

 private:
  void get_local_route(const simgrid::kernel::routing::NetPoint* from, const simgrid::kernel::routing::NetPoint* to,
                       simgrid::kernel::routing::Route* into, double* latency) override;
  /// -1 is the storage.
  [[nodiscard]] std::vector<int> resources(int from, int to) const;

  const Machine& machine_;
  std::vector<simgrid::s4u::Host*> nodes_;
  simgrid::s4u::Host* storage_ = nullptr;
  std::map<const simgrid::kernel::routing::NetPoint*, int> number_of_;
  std::map<int, simgrid::s4u::Link*> links_;  ///< by resource that has a limit
  std::map<int, std::uint64_t> bytes_;
};

}  // namespace weir::sim

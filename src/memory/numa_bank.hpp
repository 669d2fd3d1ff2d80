#pragma once

#include <memory>
#include <vector>

#include "memory/bank.hpp"

namespace weir {

/// NUMA nodes as the kernel wants them: a bit each.
std::vector<unsigned long> node_mask(const std::vector<int>& nodes);

/// Memory of certain NUMA nodes, such as high-bandwidth memory.
class NumaBank : public MemoryBank {
 public:
  /// What it asks of the operating system.
  struct System {
    /// Pages of this memory shall lie on these nodes; 0 or an errno.
    int (*bind)(void* data, std::uint64_t size, const std::vector<int>& nodes);
    /// What can be had on a node without others losing theirs; 0 when the system does not tell.
    std::uint64_t (*free_on)(int node);
  };
  static const System linux_system;

  /// An error when the system does not let memory be bound to these nodes.
  static Result<std::unique_ptr<MemoryBank>> make(BankAttributes attributes, std::vector<int> nodes,
                                                  const System& system = linux_system);

 protected:
  NumaBank(BankAttributes attributes, std::vector<int> nodes, const System& system)
      : MemoryBank{std::move(attributes)}, system_{system}, nodes_{std::move(nodes)} {}
  Result<BankMemory> take(std::uint64_t bytes) override;

 private:
  System system_;
  std::vector<int> nodes_;
};

}  // namespace weir

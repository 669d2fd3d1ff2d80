#pragma once

#include <memory>
#include <vector>

#include "memory/bank.hpp"

namespace weir {

/// Memory of certain NUMA nodes, such as high-bandwidth memory.
class NumaBank : public MemoryBank {
 public:
  /// An error when the system does not let memory be bound to these nodes.
  static Result<std::unique_ptr<MemoryBank>> make(BankAttributes attributes, std::vector<int> nodes);

 protected:
  NumaBank(BankAttributes attributes, std::vector<int> nodes)
      : MemoryBank{std::move(attributes)}, nodes_{std::move(nodes)} {}
  Result<BankMemory> take(std::uint64_t bytes) override;

 private:
  std::vector<int> nodes_;
};

}  // namespace weir

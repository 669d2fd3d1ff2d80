#pragma once

#include "memory/available_memory.hpp"
#include "memory/bank.hpp"

namespace weir {

/// Ordinary memory; also in the place of a bank that the machine does not have, and then says so.
class DramBank : public MemoryBank {
 public:
  using Available = std::uint64_t (*)();
  explicit DramBank(BankAttributes attributes, Available available = available_memory)
      : MemoryBank{std::move(attributes)}, available_{available} {}

 protected:
  Result<BankMemory> take(std::uint64_t bytes) override;

 private:
  Available available_;
};

}  // namespace weir

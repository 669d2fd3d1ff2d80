#pragma once

#include "memory/dram_bank.hpp"

namespace weir {

/// Memory in huge pages while the system has some, else ordinary memory.
class HugePageBank : public DramBank {
 public:
  using DramBank::DramBank;

  static constexpr std::uint64_t page = std::uint64_t{2} << 20;
  /// Whether there is a huge page now; `Code::no_memory` when there is not.
  static Status check();

 protected:
  Result<BankMemory> take(std::uint64_t bytes) override;
};

}  // namespace weir

#pragma once

#include <string>

#include "memory/bank.hpp"

namespace weir {

/// Files without names in a directory on storage of the node, mapped.
class MappedBank : public MemoryBank {
 public:
  MappedBank(BankAttributes attributes, std::string directory)
      : MemoryBank{std::move(attributes)}, directory_{std::move(directory)} {}

 protected:
  Result<BankMemory> take(std::uint64_t bytes) override;
  [[nodiscard]] bool on_storage() const noexcept override { return true; }

 private:
  std::string directory_;
};

}  // namespace weir

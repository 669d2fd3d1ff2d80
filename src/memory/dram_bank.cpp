#include "memory/dram_bank.hpp"

namespace weir {

Result<BankMemory> DramBank::take(std::uint64_t bytes) {
  auto segment = SharedSegment::create(bytes, 0);
  if (!segment) return segment.status();
  if (Status status = commit_within(*segment, 0, bytes, available_); !status.ok()) return status;
  make_present(segment->data(), bytes);
  return BankMemory{std::move(*segment)};
}

}  // namespace weir

#pragma once

#include <vector>

#include "machine/node_facts.hpp"
#include "memory/bank.hpp"

namespace weir {

/// Repeated measurements of a bank: seconds of one dependent access, bytes a second out of it and into it.
struct BankSpeed {
  std::vector<double> latency, read, write;
};

/// Copies between the bank and ordinary memory, in buffers of this size, which should not fit into caches; a third of
/// the time for each kind, and each at least once. Local.
Result<BankSpeed> measure_bank(MemoryBank& bank, std::uint64_t buffer, double seconds);

/// A size that no cache of the node holds, within reason.
std::uint64_t beyond_caches(const NodeFacts& facts);

}  // namespace weir

#pragma once

#include <memory>
#include <vector>

#include "machine/node_facts.hpp"
#include "memory/bank.hpp"

namespace weir {

/// The bank of a machine on this node: real where the node has it, emulated in ordinary memory where it does not. Where
/// the bank has a path that cannot be used, and for memory of other nodes, an error.
Result<std::unique_ptr<MemoryBank>> make_bank(const Bank& described, const std::vector<NumaFacts>& numa);

}  // namespace weir

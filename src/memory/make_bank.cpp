#include "memory/make_bank.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "machine/local_device.hpp"
#include "memory/dram_bank.hpp"
#include "memory/mapped_bank.hpp"
#include "memory/numa_bank.hpp"

namespace weir {

Result<std::unique_ptr<MemoryBank>> make_bank(const Bank& described, const std::vector<NumaFacts>& numa) {
  BankAttributes attributes = BankAttributes::of(described);
  if (described.kind == "remote" || described.scope == Scope::network)
    return problem(Code::unsupported, [&] {
      return fmt::format("cannot allocate in bank '{}': it is memory of other nodes", described.name);
    }, "choose a bank of this node");
  if (!described.path.empty()) {
    if (auto usable = bank_in_directory(described.path); !usable) return usable.status();
    return std::unique_ptr<MemoryBank>{std::make_unique<MappedBank>(std::move(attributes), described.path)};
  }
  if (described.kind == "dram") return std::unique_ptr<MemoryBank>{std::make_unique<DramBank>(std::move(attributes))};
  std::vector<int> nodes;
  for (const NumaFacts& memory : numa)
    if (memory.kind == described.kind) nodes.push_back(memory.index);
  std::string reason = fmt::format("this node has no {}", described.kind);
  if (!nodes.empty()) {
    auto bound = NumaBank::make(attributes, std::move(nodes));
    if (bound) return bound;
    reason = bound.status().message();
  }
  attributes.emulated = true;
  attributes.reason = std::move(reason);
  return std::unique_ptr<MemoryBank>{std::make_unique<DramBank>(std::move(attributes))};
}

}  // namespace weir

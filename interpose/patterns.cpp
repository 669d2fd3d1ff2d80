#include "company.hpp"
#include "engine/file.hpp"
#include "engine/planning.hpp"

namespace weir::interpose {

Result<std::optional<Step>> Patterns::repeat(File& file, const Part& part) {
  const auto found = known_.find(part.pattern.hash);
  std::shared_ptr<const Plan::Impl> known = found == known_.end() ? nullptr : found->second.plan.lock();
  std::optional<Plan> plan;
  std::optional<std::uint64_t> shift;
  if (known) plan.emplace(std::move(known));
  if (part.bytes > 0) shift = plan ? part.pattern.base - found->second.base : 0;
  return file.impl()->repeat(plan ? &*plan : nullptr, shift, part.problem);
}

Result<Step> Patterns::declare(File& file, const Part& part, std::vector<Run> runs) {
  Declaration declaration;
  declaration.variable(std::move(runs));
  auto made = file.declare(declaration);
  if (!made) return made.status();
  std::erase_if(known_, [](const auto& entry) { return entry.second.plan.expired(); });
  known_[part.pattern.hash] = {made->plan().impl(), part.pattern.base};
  return made;
}

}  // namespace weir::interpose

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "company.hpp"
#include "engine/file.hpp"
#include "engine/planning.hpp"

namespace weir::interpose {

namespace {

/// Of the pieces as they lie to one another.
std::uint64_t hash_of(const std::vector<Run>& runs, std::uint64_t seed) {
  std::array<Run, 128> part;
  const std::uint64_t base = runs.empty() ? 0 : runs.front().offset;
  for (std::size_t at = 0; at < runs.size();) {
    const std::size_t count = std::min(part.size(), runs.size() - at);
    for (std::size_t i = 0; i < count; ++i, ++at) {
      part[i] = runs[at];
      part[i].offset -= base;
    }
    seed = XXH3_64bits_withSeed(part.data(), count * sizeof(Run), seed);
  }
  return seed;
}

}  // namespace

Result<Step> Patterns::step(File& file, const std::vector<Run>& runs, std::uint64_t circumstances, const Status& mine) {
  const std::uint64_t key = hash_of(runs, circumstances);
  const std::uint64_t base = runs.empty() ? 0 : runs.front().offset;
  const auto found = known_.find(key);
  std::shared_ptr<const Plan::Impl> known = found == known_.end() ? nullptr : found->second.plan.lock();
  std::optional<Plan> plan;
  std::optional<std::uint64_t> shift;
  if (known) plan.emplace(std::move(known));
  if (!runs.empty()) shift = plan ? base - found->second.base : 0;
  auto repeated = file.impl()->repeat(plan ? &*plan : nullptr, shift, mine);
  if (!repeated) return repeated.status();
  if (*repeated) return std::move(**repeated);
  Declaration declaration;
  declaration.variable(runs);
  auto made = file.declare(declaration);
  if (!made) return made.status();
  std::erase_if(known_, [](const auto& entry) { return entry.second.plan.expired(); });
  known_[key] = {made->plan().impl(), base};
  return made;
}

}  // namespace weir::interpose

#pragma once

#include <memory>

#include "exchange/team.hpp"
#include "plan/plan.hpp"

namespace weir {

/// A plan as a program holds it.
struct Plan::Impl {
  RankPlan plan;
  std::shared_ptr<Team> team;
  std::uint64_t serial = 0;  ///< the same on all ranks: which of the context's plans it is
  double seconds = 0;        ///< that planning took on this rank
};

/// Works out a plan together with all other ranks. `storage` in `request` counts on rank 0 only. Collective.
Result<RankPlan> plan_together(Team& team, Result<RankDeclaration> declaration, PlanRequest request);

/// The ranks' parts of a layout that all of them have already, in its written form: what is left to do after loading a
/// plan. Collective.
Result<RankPlan> complete_plan(Team& team, Result<RankDeclaration> declaration, std::span<const std::byte> layout);

}  // namespace weir

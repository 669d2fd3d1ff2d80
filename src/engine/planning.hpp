#pragma once

#include <functional>
#include <memory>

#include <weir/weir.hpp>

#include "exchange/team.hpp"
#include "plan/plan.hpp"
#include "subfile/set_declaration.hpp"

namespace weir {

/// A plan as a program holds it.
struct Plan::Impl {
  RankPlan plan;
  SetPlan set;  ///< for plans of sub-files
  std::uint64_t list_bytes = 0;  ///< of a plan that the context keeps
  std::shared_ptr<Team> team;
  std::uint64_t serial = 0;  ///< the same on all ranks: which of the context's plans it is
  double seconds = 0;        ///< that planning took on this rank
};

/// What a rank brings to planning besides its declaration.
struct PlanningHooks {
  Outcome outcome;  ///< its vote is the plan it knows already, 0 for none; an error ends planning on all ranks
  /// Called when the plan of this rank is ready, before all agree on it: may add to the outcome, and may throw
  /// std::bad_alloc. Pass it by std::ref, which needs no memory.
  std::function<void(Outcome&)> ready = [](Outcome&) {};
};

/// Works out a plan together with all other ranks: true when there is a new one in `plan`, false when all know the same
/// one already. `storage` in `request` counts on rank 0 only. Afterwards the team's result has the flags that `ready`
/// set. Collective.
Result<bool> plan_together(Team& team, Result<RankDeclaration> declaration, PlanRequest request,
                           const PlanningHooks& hooks, RankPlan& plan);

/// `Plan::save`, by a rank that may have failed already. Collective.
Status save_plan(const Plan::Impl& plan, const std::string& path, const Status& mine);

/// The ranks' parts of a layout that all of them have already, in its written form, to `plan`. Collective.
Status complete_plan(Team& team, Result<RankDeclaration> declaration, std::span<const std::byte> layout, RankPlan& plan);

}  // namespace weir

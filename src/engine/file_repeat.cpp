#include "core/errors.hpp"
#include "engine/file.hpp"
#include "engine/step.hpp"

namespace weir {

namespace {
constexpr int wishes_at = 8;  // among the flags
}

Result<std::optional<Step>> File::Impl::repeat(const Plan* plan, std::optional<std::uint64_t> shift,
                                               const Status& mine, std::uint64_t& wishes) {
  if (Status status = check_open("take a step in"); !status.ok()) return status;
  Outcome outcome;
  std::shared_ptr<Step::Impl> step;
  Status why_not = context->take_handicap();
  if (why_not.ok()) why_not = mine;
  if (why_not.ok()) why_not = check_idle();
  if (why_not.ok() && plan) step = make_step(*plan, why_not);
  outcome.vote = outcome.most = step ? plan->impl()->serial : 0;
  outcome.nearest = shift.value_or(~std::uint64_t{0});
  outcome.farthest = shift.value_or(0);
  outcome.flags |= wishes << wishes_at;
  outcome.fail(why_not, context->team->rank());
  const Outcome all = agree(outcome, Call::step);
  if (Status status = agreed(all); !status.ok()) return status;
  wishes = all.flags >> wishes_at & 0xff;
  const bool nobody_moves = all.nearest > all.farthest;
  if (all.vote == 0 || all.vote != all.most || (all.nearest != all.farthest && !nobody_moves))
    return std::optional<Step>{};
  const std::uint64_t moved = nobody_moves ? 0 : all.nearest;
  if (is_elsewhere(moved)) return std::optional<Step>{};
  auto begun = begin(std::move(step), arena_for(*plan->impl()), moved);
  if (!begun) return begun.status();
  return std::optional<Step>{std::move(*begun)};
}

}  // namespace weir

#include "engine/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/errors.hpp"
#include "engine/step.hpp"
#include "model/machine_rule.hpp"

namespace weir {

namespace {

constexpr std::uint64_t flag_moved = 2;      // some rank's buffers were allocated anew
constexpr std::uint64_t flag_outside = 4;    // they must be mapped
constexpr std::uint64_t flag_too_small = 8;  // and may not be moved, since a step uses them
constexpr std::uint64_t flag_in_bank = 16;   // some are not in ordinary memory

/// "buffers of ranks 0, 4 are in hbm (emulated: ...)", a line for each place.
std::string places_text(const Team::Posts& places) {
  std::map<std::string, std::vector<std::size_t>> ranks;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (!places[rank].empty())
      ranks[{reinterpret_cast<const char*>(places[rank].data()), places[rank].size()}].push_back(rank);
  std::string text;
  for (const auto& [place, all] : ranks)
    text += fmt::format("buffers of rank{} {} are in {}\n", all.size() == 1 ? "" : "s", fmt::join(all, ", "), place);
  return text;
}

}  // namespace

Status different_plans() noexcept {
  return problem(Code::mismatch, "cannot take a step: the ranks brought different plans", "pass the same plan on all ranks");
}

void File::Impl::confirm() noexcept {
  if (!confirmed_) --context->unconfirmed;
  confirmed_ = true;
}

const Outcome& File::Impl::agree(Outcome outcome, Call call) {
  outcome.fail(opening_, context->team->rank());
  const Outcome& all = context->agree(outcome, call, serial);
  if (all.other_call == 0) confirm();
  return all;
}

LazyStorage::Place File::Impl::place_of(std::uint64_t offset) const {
  return set_ ? Place{set_->name_at(offset), set_->inside(offset)} : Place{path, offset};
}

Status File::Impl::check_open(const char* action) const noexcept {
  if (Status status = check_mpi(); !status.ok()) return status;
  if (Status status = context->check_together(); !status.ok()) return status;
  if (!closed) return {};
  return problem(Code::invalid, [&] { return fmt::format("cannot {} '{}': it is closed", action, path); },
                 "open it again");
}

Result<Step> File::Impl::declare(const Declaration& declaration) {
  return declare([&] { return RankDeclaration::of(declaration); });
}

Result<Step> File::Impl::declare(const std::function<Result<RankDeclaration>()>& declared) {
  if (Status status = check_open("declare for"); !status.ok()) return status;
  Context::Impl& weir = *context;
  const double start = now();
  PlanRequest request;
  static const SimpleRule rule_of_thumb;
  std::optional<MachineRule> rule;
  if (weir.machine && weir.trusts_figures) rule.emplace(*weir.machine);
  request.direction = direction();
  request.model = rule ? static_cast<const PlacementModel*>(&*rule) : &rule_of_thumb;
  request.machine = weir.machine.get();
  request.trusts_figures = weir.trusts_figures;
  std::uint64_t key = 0;
  Result<RankDeclaration> own{Status{}};
  // A new plan, its place among the known ones, and the step are all made before the ranks agree.
  std::shared_ptr<Plan::Impl> impl;
  std::map<std::uint64_t, Plan>::node_type entry;
  std::shared_ptr<Step::Impl> step;
  Status mine = weir.take_handicap();
  request.limits = settings->limits;
  if (weir.remote && weir.machine && settings->election.bank.empty() && request.limits.remote == PlanLimits::Remote::no)
    request.limits.remote = PlanLimits::Remote::may;
  if (mine.ok()) mine = attempt("declare", [&]() -> Status {
    request.rules = settings->election;
    const std::uint64_t elsewhere = weir.memory_in_use() - arenas.back()->planned_buffers();
    request.limits.memory = request.limits.memory > elsewhere ? request.limits.memory - elsewhere : 0;
    if (weir.team->rank() == 0) {
      if (!traits_) traits_ = settings->system->traits(set_ ? set_->where() : work);
      request.storage = *traits_;
    }
    own = declared();
    if (!own) return own.status();
    if (set_) request.files = set_->groups();
    const std::string circumstances =
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(request.limits.remote), static_cast<int>(request.rules.strategy) * 16 + static_cast<int>(request.rules.persistency),
                    static_cast<int>(request.direction), request.limits.memory,
                    request.limits.buffer_size, request.limits.buffers, request.limits.aggregators,
                    request.limits.alignment, static_cast<int>(request.limits.mode), request.limits.chunk,
                    request.storage.file_system, request.storage.kind, request.storage.block, request.storage.stripe,
                    set_ ? set_->space() : 0) +
        request.rules.bank;
    key = XXH3_64bits_withSeed(circumstances.data(), circumstances.size(), own->hash());
    impl = std::make_shared<Plan::Impl>();
    impl->team = weir.team;
    std::map<std::uint64_t, Plan> one{{key, Plan{impl}}};
    entry = one.extract(key);
    return {};
  });

  PlanningHooks hooks;
  Arena* arena = arenas.back();
  const auto known = mine.ok() ? weir.plans.find(key) : weir.plans.end();
  if (known != weir.plans.end()) step = make_step(known->second, mine);
  weir.drain();
  hooks.outcome = weir.enter(Call::declare, serial);
  hooks.outcome.fail(opening_, weir.team->rank());
  hooks.outcome.fail(mine, weir.team->rank());
  hooks.outcome.vote = hooks.outcome.most = known == weir.plans.end() ? 0 : known->second.impl()->serial;
  hooks.outcome.fail(check_idle(), weir.team->rank());
  if (request.limits.memory < Placement::least_memory(request.limits.buffers, weir.team->nodes().nodes()))
    hooks.outcome.fail(problem(Code::no_memory, [&] {
      return fmt::format("cannot declare for '{}': other open files use all of plan.memory ({} B)", path,
                         settings->limits.memory);
    }, "close some, or raise plan.memory"), weir.team->rank());
  const auto ready = [&](Outcome& outcome) {
    Status status;
    step = make_step(entry.mapped(), status);
    outcome.fail(status, weir.team->rank());
    if (impl->plan.layout.placement.mode != Mode::direct) reserve(*arena, impl->plan.layout, outcome);
    // A file system that lent the file to its first client takes it back before anybody writes, not in the middle.
    const bool stores = impl->plan.layout.placement.mode == Mode::direct ? impl->plan.declaration.bytes() > 0
                                                                         : impl->plan.domain.has_value();
    if (stores && !set_ && weir.team->nodes().nodes() > 1) (void)get();
  };
  hooks.ready = std::ref(ready);
  SetPlan set_plan;
  if (set_) {
    if (!mine.ok()) own = mine;
    if (Status status = set_->place(own, hooks.outcome, set_plan); !status.ok()) return status;
  }
  if (impl) impl->set = std::move(set_plan);
  RankPlan no_plan;
  auto made = plan_together(*weir.team, std::move(own), std::move(request), hooks, impl ? impl->plan : no_plan);
  if (weir.team->result().other_call == 0) confirm();
  if (!made) return made.status();
  if (!*made) return begin(std::move(step), arena_for(*known->second.impl()), 0);
  const std::uint64_t flags = weir.team->result().flags;
  weir.team->trim();
  impl->serial = ++weir.plan_count;
  impl->seconds = now() - start;
  impl->list_bytes = impl->plan.list_bytes();
  weir.plans.erase(key);
  weir.plans.insert(std::move(entry));
  weir.forget_plans();
  return begin(std::move(step), settle(arena, *impl, flags), 0);
}

Status File::Impl::check_plan(const Plan& plan) const noexcept {
  if (!plan.impl()) return problem(Code::invalid, "cannot use an empty plan", "make one with declare");
  if (plan.impl()->team != context->team)
    return problem(Code::invalid, "cannot use a plan of another context", "declare it in this one");
  if (plan.impl()->plan.layout.direction == direction()) return {};
  return problem(Code::invalid, [&] {
    return fmt::format("cannot use a plan for {} in '{}', which is open for {}",
                       direction() == Direction::read ? "writing" : "reading", path,
                       direction() == Direction::read ? "reading" : "writing");
  });
}

std::shared_ptr<Step::Impl> File::Impl::make_step(const Plan& plan, Status& why_not) noexcept {
  std::shared_ptr<Step::Impl> step;
  why_not = attempt("take a step", [&]() -> Status {
    step = std::make_shared<Step::Impl>(*this, plan);
    if (set_) set_->expect(plan);
    return {};
  });
  return step;
}

Result<Step> File::Impl::begin(std::shared_ptr<Step::Impl> step, Result<Arena*> arena, std::uint64_t shift) noexcept {
  if (!arena) return arena.status();
  StepPlace place{shift, 0};
  if (set_) {
    auto begun = set_->begin(step->plan(), shift);
    if (!begun) return begun.status();
    place = *begun;
  }
  ++steps;
  step->attach(shared_from_this(), **arena, place);
  return Step{std::move(step)};
}

Status File::Impl::check_space(const Plan& plan) const {
  return plan.impl()->set.space == (set_ ? set_->space() : 0) ? Status{} : other_space();
}

Status File::Impl::other_space() const {
  return problem(Code::invalid, fmt::format("cannot use this plan in '{}': it was made for other sub-files", path),
                 "declare for this file, or open it with the plan.files that the plan was made with");
}

Result<Step> File::Impl::step(const Plan& plan, std::uint64_t shift) {
  if (Status status = check_open("take a step in"); !status.ok()) return status;
  Outcome outcome;
  std::shared_ptr<Step::Impl> step;
  Status mine = context->take_handicap();
  if (mine.ok()) mine = check_plan(plan);
  outcome.vote = outcome.most = mine.ok() ? plan.impl()->serial : 0;
  if (mine.ok()) mine = check_space(plan);
  if (mine.ok()) mine = check_idle();
  if (mine.ok()) step = make_step(plan, mine);
  outcome.fail(mine, context->team->rank());
  return step_together(std::move(step), plan, shift, outcome);
}

Result<Step> File::Impl::step_together(std::shared_ptr<Step::Impl> step, const Plan& plan, std::uint64_t shift,
                                       Outcome outcome) {
  const Outcome& all = agree(outcome, Call::step);
  if (Status status = agreed(all); !status.ok()) return status;
  if (all.vote != all.most) return different_plans();
  if (is_elsewhere(shift)) return declare([&] { return plan.impl()->set.declared.moved(shift); });
  return begin(std::move(step), arena_for(*plan.impl()), shift);
}

Result<Step> File::Impl::step(std::uint64_t shift) {
  if (Status status = check_open("take a step in"); !status.ok()) return status;
  if (!plan_)
    return problem(Code::invalid, [&] {
      return fmt::format("cannot take a step in '{}': it was opened without a plan", path);
    }, "declare, or pass the plan to step, create, open or update");
  if (is_elsewhere(shift)) return declare([&] { return plan_->impl()->set.declared.moved(shift); });
  Status mine = context->take_handicap();
  if (mine.ok() && first_step_) return begin(std::move(first_step_), arena_for(*plan_->impl()), shift);
  auto step = mine.ok() ? make_step(*plan_, mine) : nullptr;
  if (context->team->nodes().nodes() == 1) return begin(std::move(step), arena_for(*plan_->impl(), mine), shift);
  Outcome outcome;  // nobody would notice on another node that this rank has no step
  outcome.fail(mine, context->team->rank());
  return step_together(std::move(step), *plan_, shift, outcome);
}

Status File::Impl::check_idle() const noexcept {
  if (absorbed)
    return problem(Code::invalid, [&] {
      return fmt::format("cannot begin another step in '{}': one was absorbed and is still being stored", path);
    }, "wait for it first");
  if (!moving_early) return {};
  return problem(Code::invalid, [&] {
    return fmt::format("cannot begin another step in '{}': one has been given data", path);
  }, "finish it first");
}

void File::Impl::reserve(Arena& arena, const Layout& layout, Outcome& outcome) noexcept {
  // Buffers that a step uses never move: a larger plan gets an arena of its own.
  outcome.fail(attempt("allocate buffers", [&]() -> Status {
    Result<std::vector<MemoryBank*>> banks = context->banks_for(layout, settings->election);
    if (!banks) return banks.status();
    if (!arena.bound() || arena.large_enough(layout, *banks)) return arena.reserve(layout, *banks);
    outcome.flags |= flag_too_small;
    return {};
  }), context->team->rank());
  if (outcome.flags & flag_too_small) return;
  if (arena.moved()) outcome.flags |= flag_moved;
  if (arena.outside()) outcome.flags |= flag_outside;
  if (!arena.where().empty()) outcome.flags |= flag_in_bank;
}

Status File::Impl::tell_places(Arena& arena) {
  const std::string& own = arena.where();
  auto all = context->team->gather(std::as_bytes(std::span{own}), context->enter(Call::declare, serial));
  if (Status status = agreed(context->team->result()); !status.ok()) return status;
  if (!all) return all.status();
  // Only for explanations, so that a rank without memory for it goes on.
  (void)attempt("declare", [&]() -> Status { return arena.tell_all(places_text(*all)), Status{}; });
  return {};
}

Result<Arena*> File::Impl::settle(Arena* arena, const Plan::Impl& plan, std::uint64_t flags) {
  const Layout& layout = plan.plan.layout;
  if (layout.placement.mode == Mode::direct) return arenas.front();
  Context::Impl& weir = *context;
  if (flags & flag_too_small) {
    arena = weir.take_arena(plan.serial);
    if (!arena) return too_many_files();
    arenas.push_back(arena);
    Outcome outcome;
    reserve(*arena, layout, outcome);
    const Outcome& all = agree(outcome, Call::declare);
    if (Status status = agreed(all); !status.ok()) return status;
    flags = all.flags;
  }
  const bool moved = (flags & flag_moved) != 0;
  const Status connected = arena->connect(layout, moved);
  if (flags & flag_outside) {
    Outcome outcome;
    outcome.fail(connected, weir.team->rank());
    if (Status status = agreed(agree(outcome, Call::declare)); !status.ok()) return status;
  }
  if (!(flags & flag_in_bank))
    arena->tell_all({});
  else if (Status status = tell_places(*arena); !status.ok())
    return status;
  if (weir.team->nodes().nodes() > 1) arena->link(settings->one_sided, moved);
  arena->bind(plan.serial, layout.placement.aggregator_bytes(context->team->nodes().nodes()));
  return arena;
}

Result<Arena*> File::Impl::arena_for(const Plan::Impl& plan, const Status& mine) {
  const auto alone = [&](Arena* arena) { return mine.ok() ? Result<Arena*>{arena} : context->drop_out(); };
  if (plan.plan.layout.placement.mode == Mode::direct) return alone(arenas.front());
  for (Arena* arena : arenas)
    if (arena->fits(plan.serial)) {
      if (context->team->nodes().nodes() > 1) arena->link(settings->one_sided, false);
      arena->bind(plan.serial, plan.plan.layout.placement.aggregator_bytes(context->team->nodes().nodes()));
      return alone(arena);
    }
  Outcome outcome;
  outcome.fail(mine, context->team->rank());
  reserve(*arenas.back(), plan.plan.layout, outcome);
  const Outcome& all = agree(outcome, Call::declare);
  if (Status status = agreed(all); !status.ok()) return status;
  return settle(arenas.back(), plan, all.flags);
}

Status File::Impl::too_many_files() const noexcept {
  return problem(Code::too_many_files, [&] {
    return fmt::format("cannot open '{}': {} files are open in this context", path, context->arenas.size());
  }, "close some first");
}

Result<Step> File::declare(const Declaration& declaration) { return impl_->declare(declaration); }
Result<Step> File::step(const Plan& plan, std::uint64_t shift) { return impl_->step(plan, shift); }
Result<Step> File::step(std::uint64_t shift) { return impl_->step(shift); }
Status File::sync() { return impl_->sync(); }
Status File::close() { return impl_->close(); }
Status File::close(Step& last) { return impl_->close(*last.impl()); }

}  // namespace weir

#include "engine/file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>

#include "core/errors.hpp"
#include "engine/step.hpp"
#include "storage/storage_problem.hpp"

namespace weir {

namespace {

constexpr std::uint64_t flag_replaces = 1;   // written under a temporary name first
constexpr std::uint64_t flag_moved = 2;      // some rank's buffers were allocated anew
constexpr std::uint64_t flag_outside = 4;    // they must be mapped
constexpr std::uint64_t flag_too_small = 8;  // and may not be moved, since a step uses them
constexpr std::uint64_t flag_set = 16;       // the file is the index of a set

Call call_of(OpenMode mode) {
  return mode == OpenMode::create ? Call::create : mode == OpenMode::read ? Call::open : Call::update;
}

/// What a created file replaces: the plain file behind any links, or the name itself.
std::string resolved(const std::string& path) {
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored);
  if (ignored == std::errc::not_enough_memory) throw std::bad_alloc{};
  return ignored ? path : real.string();
}

bool replaceable(const std::string& target) {
  std::error_code ignored;
  const auto status = std::filesystem::status(target, ignored);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

/// The same on every rank, and never that of another context.
std::string temporary_name(const std::string& target, std::uint64_t context, std::uint64_t file) {
  const std::filesystem::path path{target};
  return (path.parent_path() / fmt::format(".{}.weir-{:016x}-{}", path.filename().string(), context, file)).string();
}

Status different_plans() noexcept {
  return problem(Code::mismatch, "cannot take a step: the ranks brought different plans", "pass the same plan on all ranks");
}

Status different_files(const std::string& path) {
  return problem(Code::mismatch, fmt::format("cannot open '{}': the ranks have different settings of plan.files", path),
                 "set it to the same value on all ranks");
}

}  // namespace

Result<std::shared_ptr<File::Impl>> File::Impl::open(std::shared_ptr<Context::Impl> context, const std::string& path,
                                                     OpenMode mode, const Plan* plan, const Settings& given) {
  Context::Impl& weir = *context;
  const std::uint64_t serial = ++weir.files;
  const bool alone = opens_alone(weir, mode, plan, given);
  std::shared_ptr<Impl> file;
  Status status = weir.take_handicap();
  if (status.ok()) status = attempt("open a file", [&] { return file = std::make_shared<Impl>(), Status{}; });
  if (!file) {
    if (alone) return weir.drop_out();
    status = weir.agree(call_of(mode), serial, status);
    if (weir.team->result().other_call != 0) --weir.files;
    return status;
  }
  file->settings = weir.file_settings;
  file->context = std::move(context);
  file->mode = mode;
  file->serial = serial;
  if (plan) file->plan_ = *plan;
  file->opening_ = attempt("open a file", [&]() -> Status {
    file->path = path;
    file->given_ = given;
    return {};
  });
  status = alone ? file->open_alone(call_of(mode)) : file->open_together(call_of(mode));
  if (!status.ok()) return status;
  return file;
}

bool File::Impl::opens_alone(const Context::Impl& weir, OpenMode mode, const Plan* plan, const Settings& given) {
  if (!plan || !plan->impl() || plan->impl()->team != weir.team || mode == OpenMode::update) return false;
  const Layout& layout = plan->impl()->plan.layout;
  if (weir.team->nodes().nodes() > 1 || layout.direction != direction_of(mode)) return false;
  if (plan->impl()->set.space != 0 || weir.file_settings->files != "shared" || given.contains("plan.files")) return false;
  const bool rank_0_stores = layout.domains.size() == 1 && layout.domains[0].aggregator == 0;
  return mode == OpenMode::read || (layout.placement.mode == Mode::aggregate && rank_0_stores);
}

Status File::Impl::open_alone(Call call) {
  Context::Impl& weir = *context;
  Arena* arena = weir.take_arena(plan_->impl()->serial);
  if (!arena) return too_many_files();
  arenas.push_back(arena);
  Outcome outcome;
  if (opening_.ok()) opening_ = attempt_open(call, outcome);
  if (outcome.flags & flag_set) opening_ = other_space();
  replaces_ = (outcome.flags & flag_replaces) != 0;
  confirmed_ = false;
  closed = false;
  ++weir.unconfirmed;
  weir.team->enter(call_id(call, serial, plan_->impl()->serial));
  return {};
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

Status File::Impl::open_together(Call call) {
  Context::Impl& weir = *context;
  Outcome outcome;
  if (opening_.ok()) opening_ = attempt_open(call, outcome);
  outcome.fail(opening_, weir.team->rank());
  const Outcome& all = weir.agree(outcome, call, serial);
  Status result = agreed(all);
  if (all.other_call != 0) --weir.files;  // those who called something else have not counted this one
  if (result.ok() && all.vote >> 32 != all.most >> 32) result = different_files(path);
  if (result.ok() && all.vote != all.most) result = different_plans();
  if (result.ok() && (all.flags & flag_set)) result = open_set();
  if (result.ok() && plan_) result = check_space(*plan_);
  Arena* arena = result.ok() ? weir.take_arena(plan_ ? plan_->impl()->serial : 0) : nullptr;
  if (result.ok() && !arena) result = too_many_files();
  if (!result.ok()) {
    if (outcome.flags & flag_replaces) remove_work();  // a temporary file, never the target
    if (set_) set_->discard(false);
    return result;
  }
  replaces_ = (all.flags & flag_replaces) != 0;
  arenas.push_back(arena);
  closed = false;
  return {};
}

Status File::Impl::attempt_open(Call call, Outcome& outcome) noexcept {
  return attempt("open a file", [&] { return open_here(call, outcome); });
}

Status File::Impl::open_here(Call call, Outcome& outcome) {
  Context::Impl& weir = *context;
  if (path.empty()) return problem(Code::invalid, fmt::format("cannot {} a file without a name", name(call)));
  if (!given_.empty() || settings->faulty) {
    auto resolved_settings = weir.settings.with(given_);
    if (!resolved_settings) return resolved_settings.status();
    auto made = FileSettings::of(*resolved_settings, *weir.team);
    if (!made) return made.status();
    settings = std::move(*made);
  }
  if (plan_)
    if (Status status = check_plan(*plan_); !status.ok()) return status;
  if (plan_) first_step_ = std::make_shared<Step::Impl>(*this, *plan_);
  outcome.vote = outcome.most = std::uint64_t{XXH32(settings->files.data(), settings->files.size(), 0)} << 32 |
                                (plan_ ? plan_->impl()->serial & 0xffffffff : 0);
  if (mode == OpenMode::create && settings->files != "shared") return create_set(outcome);
  if (weir.team->rank() != 0) return {};
  target = work = path;
  if (mode != OpenMode::create && settings->posix && FileSet::is_at(path)) {
    if (mode == OpenMode::update)
      return problem(Code::unsupported, fmt::format("cannot update '{}': it is a set of sub-files", path),
                     "create it anew");
    auto index = FileSet::load(*settings->system, path);
    if (!index) return index.status();
    index_ = std::move(*index);
    outcome.flags |= flag_set;
    return {};
  }
  if (mode == OpenMode::create && settings->posix) {
    target = work = resolved(path);
    if (settings->replace && replaceable(target)) {
      work = temporary_name(target, weir.id, serial);
      outcome.flags |= flag_replaces;
    } else {
      OldSet{*settings->system, target}.remove(*settings->system);
    }
  }
  auto opened = settings->system->open(work, mode);
  if (!opened) return opened.status();
  storage_ = std::move(*opened);
  return {};
}

Status File::Impl::create_set(Outcome& outcome) {
  Context::Impl& weir = *context;
  if (settings->memory)
    return problem(Code::unsupported,
                   fmt::format("cannot create '{}' as sub-files: ranks do not share storage.kind memory", path),
                   "set plan.files to shared, or storage.kind to posix");
  target = settings->posix ? resolved(path) : path;
  if (settings->posix && !replaceable(target))
    return problem(Code::exists, fmt::format("cannot create '{}' as sub-files: it is not a plain file", path),
                   "name a plain file, or set plan.files to shared");
  work = temporary_name(target, weir.id, serial);
  outcome.flags |= flag_replaces;
  FileGroups groups = FileGroups::of(settings->files, weir.team->nodes());
  set_ = std::make_unique<FileSet>(*weir.team, *settings->system, std::move(groups), target,
                                   XXH3_64bits_withSeed(&serial, sizeof serial, weir.id));
  auto opened = set_->open();
  if (!opened) return opened.status();
  storage_ = std::move(*opened);
  return {};
}

Status File::Impl::open_set() {
  Outcome outcome;
  outcome.call = call_id(Call::open, serial);
  auto index = FileSet::share(*context->team, index_, outcome, path);
  index_ = {};
  if (!index) return index.status();
  set_ = std::make_unique<FileSet>(*context->team, *settings->system, std::move(*index), path);
  return {};
}

LazyStorage::Place File::Impl::place_of(std::uint64_t offset) const {
  return set_ ? Place{set_->name_at(offset), set_->inside(offset)} : Place{path, offset};
}

Storage* File::Impl::get() noexcept {
  if (storage_ || !open_error_.ok()) return storage_.get();
  open_error_ = opening_;
  if (!opening_.ok()) return nullptr;
  open_error_ = attempt("open a file", [&] {
    work = replaces() ? temporary_name(resolved(path), context->id, serial) : path;
    auto opened = set_ ? set_->open() : settings->system->open(work, mode == OpenMode::create ? OpenMode::update : mode);
    if (opened) storage_ = std::move(*opened);
    return opened.status();
  });
  return storage_.get();
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
  static const SimpleRule rule;
  request.direction = direction();
  request.model = &rule;
  std::uint64_t key = 0;
  Result<RankDeclaration> own{Status{}};
  // A new plan, its place among the known ones, and the step are all made before the ranks agree.
  std::shared_ptr<Plan::Impl> impl;
  std::map<std::uint64_t, Plan>::node_type entry;
  std::shared_ptr<Step::Impl> step;
  Status mine = weir.take_handicap();
  if (mine.ok()) mine = attempt("declare", [&]() -> Status {
    request.limits = settings->limits;
    const std::uint64_t elsewhere = weir.memory_in_use() - arenas.back()->planned_buffers();
    request.limits.memory = request.limits.memory > elsewhere ? request.limits.memory - elsewhere : 0;
    if (weir.team->rank() == 0) request.storage = settings->system->traits(work);
    own = declared();
    if (!own) return own.status();
    const std::string circumstances =
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(request.direction), request.limits.memory,
                    request.limits.buffer_size, request.limits.buffers, request.limits.aggregators,
                    request.limits.alignment, static_cast<int>(request.limits.mode), request.limits.chunk,
                    request.storage.file_system, request.storage.kind, request.storage.block, request.storage.stripe,
                    set_ ? set_->space() : 0);
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
  if (request.limits.memory < request.limits.buffers)
    hooks.outcome.fail(problem(Code::no_memory, [&] {
      return fmt::format("cannot declare for '{}': other open files use all of plan.memory ({} B)", path,
                         settings->limits.memory);
    }, "close some, or raise plan.memory"), weir.team->rank());
  const auto ready = [&](Outcome& outcome) {
    Status status;
    step = make_step(entry.mapped(), status);
    outcome.fail(status, weir.team->rank());
    if (impl->plan.layout.placement.mode != Mode::direct) reserve(*arena, impl->plan.layout, outcome);
  };
  hooks.ready = std::ref(ready);
  SetPlan set_plan;
  if (set_) {
    if (!mine.ok()) own = mine;
    if (Status status = set_->place(own, hooks.outcome, set_plan); !status.ok()) return status;
    request.files = set_->groups();
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
  weir.plans.erase(key);
  weir.plans.insert(std::move(entry));
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
  why_not = attempt("take a step", [&] { return step = std::make_shared<Step::Impl>(*this, plan), Status{}; });
  return step;
}

Result<Step> File::Impl::begin(std::shared_ptr<Step::Impl> step, Result<Arena*> arena, std::uint64_t shift) noexcept {
  if (!arena) return arena.status();
  StepPlace place{shift, 0};
  if (set_) {
    const Status status = attempt("take a step", [&] {
      auto begun = set_->begin(step->plan(), shift);
      if (begun) place = *begun;
      return begun.status();
    });
    if (!status.ok()) return status;
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
  if (!moving_early) return {};
  return problem(Code::invalid, [&] {
    return fmt::format("cannot begin another step in '{}': one has been given data", path);
  }, "finish it first");
}

void File::Impl::reserve(Arena& arena, const Layout& layout, Outcome& outcome) noexcept {
  // Buffers that a step uses never move: a larger plan gets an arena of its own.
  if (arena.bound() && !arena.large_enough(layout)) {
    outcome.flags |= flag_too_small;
    return;
  }
  outcome.fail(attempt("allocate buffers", [&] { return arena.reserve(layout); }), context->team->rank());
  if (arena.moved()) outcome.flags |= flag_moved;
  if (arena.outside()) outcome.flags |= flag_outside;
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
  if (weir.team->nodes().nodes() > 1) arena->link(settings->one_sided, moved);
  arena->bind(plan.serial, layout.placement.buffer_size * layout.placement.buffers);
  return arena;
}

Result<Arena*> File::Impl::arena_for(const Plan::Impl& plan, const Status& mine) {
  const auto alone = [&](Arena* arena) { return mine.ok() ? Result<Arena*>{arena} : context->drop_out(); };
  if (plan.plan.layout.placement.mode == Mode::direct) return alone(arenas.front());
  for (Arena* arena : arenas)
    if (arena->fits(plan.serial)) {
      arena->bind(plan.serial, plan.plan.layout.placement.buffer_size * plan.plan.layout.placement.buffers);
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

Status File::Impl::sync() {
  if (Status status = check_open("sync"); !status.ok()) return status;
  context->drain();
  Status mine;
  if (storage_ && mode != OpenMode::read)
    if (const int error = storage_->sync()) mine = storage_problem(error, "sync", path);
  if (mine.ok() && context->team->rank() == 0 && opening_.ok())
    mine = attempt("sync a directory", [&] { return settings->system->sync_directory(work); });
  Outcome outcome;
  outcome.fail(mine, context->team->rank());
  return agreed(agree(outcome, Call::sync));
}

Status File::Impl::close() {
  if (Status status = check_mpi(); !status.ok()) return status;
  if (!closed && context->team->broken()) {
    closed = true;
    abandon();
  }
  if (Status status = check_open("close"); !status.ok()) return status;
  context->drain();
  return close_together(context->enter(Call::close, serial), nullptr);
}

Status File::Impl::close(Step::Impl& last) {
  if (last.file() != this)
    return problem(Code::invalid, [&] {
      return fmt::format("cannot close '{}': the step belongs to another file", path);
    }, "pass a step of this file");
  if (mode == OpenMode::read || set_) {
    const Status finished = last.start();
    const Status status = finished.ok() ? last.wait() : finished;
    const Status ended = close();
    return status.ok() && !ended.ok() ? ended : status;
  }
  if (Status status = last.start_for_close(); !status.ok()) return status;
  if (last.over()) return close();  // the ranks went different ways
  return close_together(last.outcome(), &last);
}

Status File::Impl::close_together(Outcome outcome, Step::Impl* last) {
  Context::Impl& weir = *context;
  closed = true;
  const bool durable = mode != OpenMode::read && settings->durable;
  outcome.fail(opening_, weir.team->rank());
  if (set_ && set_->writes()) outcome.fail(get() ? set_->seal(*storage_) : open_error_, weir.team->rank());
  const auto note = [&](int error, const char* action) {
    if (error != 0 && mode != OpenMode::read) outcome.fail(storage_problem(error, action, path), weir.team->rank());
  };
  if (durable && storage_) note(storage_->sync(), "sync");
  if (storage_) note(storage_->close(), "close");
  storage_.reset();
  if (failed_steps > 0 && mode != OpenMode::read)
    outcome.fail(problem(failed_code, [&] {
      return fmt::format("cannot close '{}' as a whole file: {} of its steps failed", path, failed_steps);
    }, replaces() ? "what was there before is untouched" : "its contents are not complete"), weir.team->rank());
  Status status;
  if (mode != OpenMode::read || !confirmed_) {
    if (set_ && mode != OpenMode::read) {
      const Status collected = set_->collect(outcome);
      if (collected.code() == Code::mismatch && weir.team->result().other_call != 0) return closed = false, collected;
      outcome.fail(collected, weir.team->rank());
    }
    status = agreed(weir.team->agree_then(outcome, [&](Outcome& all) {
      if (all.other_call == 0) all.fail(install(all.code == 0, durable), 0);
    }));
    if (last) last->conclude();
    if (weir.team->result().other_call != 0 && !weir.team->broken()) {
      closed = false;  // the others have not closed it: that can still be done together
      return status;
    }
    confirm();
  }
  for (Arena* arena : arenas) arena->give_back();
  return status;
}

Status File::Impl::install(bool complete, bool durable) noexcept {
  StorageSystem& system = *settings->system;
  bool installed = false;
  const Status status = attempt("install a file", [&]() -> Status {
    if (!complete) return {};
    if (set_) {
      if (Status appeared = set_->install(work, target, durable); !appeared.ok()) return appeared;
    } else if (replaces()) {
      const OldSet old{system, target};
      if (Status renamed = system.rename(work, target); !renamed.ok()) return renamed;
      old.remove(system);
    }
    installed = true;
    return durable ? system.sync_directory(target) : Status{};
  });
  if (installed) return status;
  if (set_) set_->discard(true);
  else if (replaces()) remove_work();
  return status;
}

void File::Impl::remove_work() noexcept {
  (void)attempt("remove a file", [&] { return settings->system->remove(work); });
}

void File::Impl::abandon() noexcept {
  confirm();
  if (mode == OpenMode::read) return;
  std::fprintf(stderr, "weir: '%s' was not closed, so %s\n", path.c_str(),
               replaces() ? "it is not there; what was there before is untouched" : "it may not be complete");
  storage_.reset();
  if (set_) return set_->discard(false);
  if (replaces() && context->team->rank() == 0) remove_work();
}

File::Impl::~Impl() {
  if (closed) return;
  if (std::uncaught_exceptions() > 0 || !check_mpi().ok()) {
    abandon();
    return;
  }
  if (const Status status = close(); !status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
}

Result<Step> File::declare(const Declaration& declaration) { return impl_->declare(declaration); }
Result<Step> File::step(const Plan& plan, std::uint64_t shift) { return impl_->step(plan, shift); }
Result<Step> File::step(std::uint64_t shift) { return impl_->step(shift); }
Status File::sync() { return impl_->sync(); }
Status File::close() { return impl_->close(); }
Status File::close(Step& last) { return impl_->close(*last.impl()); }

}  // namespace weir

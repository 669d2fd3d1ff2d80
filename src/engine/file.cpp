#include "engine/file.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "core/errors.hpp"
#include "engine/step.hpp"
#include "storage/make_storage.hpp"
#include "storage/storage_problem.hpp"

namespace weir {

namespace {

Call call_of(OpenMode mode) {
  return mode == OpenMode::create ? Call::create : mode == OpenMode::read ? Call::open : Call::update;
}

/// What a created file replaces: the plain file behind any links, or the name itself.
std::string resolved(const std::string& path) {
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored);
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

/// Waiting for storage in the background pays only where this rank also serves other nodes.
std::string async_choice(const ResolvedSettings& settings, const Team& team) {
  const std::string& wanted = settings.text("storage.async");
  return wanted == "auto" && team.nodes().nodes() == 1 ? "plain" : wanted;
}

}  // namespace

Result<std::shared_ptr<File::Impl>> File::Impl::open(std::shared_ptr<Context::Impl> context, const std::string& path,
                                                     OpenMode mode, const Settings& given) {
  auto file = std::make_shared<Impl>();
  file->context = std::move(context);
  Context::Impl& weir = *file->context;
  file->path = path;
  file->mode = mode;
  file->serial = ++weir.files;
  file->given_ = given;
  const Status status = file->open_here(call_of(mode));
  if (!status.ok()) return status;
  return file;
}

Status File::Impl::open_here(Call call) {
  Context::Impl& weir = *context;
  closed = true;  // until all ranks have it open
  Outcome outcome;
  outcome.fail(attempt_open(call, outcome), weir.team->rank());
  const Outcome& all = weir.agree(outcome, call, serial);
  if (Status result = agreed(all); !result.ok()) {
    if (storage_ && mode == OpenMode::create) (void)system->remove(work);
    return result;
  }
  replaces_ = all.most != 0;
  Arena* arena = weir.take_arena();
  if (!arena) return too_many_files();
  arenas.push_back(arena);
  closed = false;
  return {};
}

Status File::Impl::attempt_open(Call call, Outcome& outcome) try {
  Context::Impl& weir = *context;
  if (path.empty()) return problem(Code::invalid, fmt::format("cannot {} a file without a name", name(call)));
  auto resolved_settings = weir.settings.with(given_);
  if (!resolved_settings) return resolved_settings.status();
  settings = std::move(*resolved_settings);
  if (settings.text("plan.files") != "shared")
    return problem(Code::unsupported, "cannot write sub-files yet", "set plan.files to shared");
  auto made = make_storage_system(settings.text("storage.kind"), async_choice(settings, *weir.team),
                                  settings.text("storage.fault"), weir.team->rank());
  if (!made) return made.status();
  system = std::move(*made);
  const bool plain_file = settings.text("storage.kind") == "posix";
  target = work = mode == OpenMode::create && plain_file ? resolved(path) : path;
  const bool may_replace = mode == OpenMode::create && plain_file && settings.flag("storage.replace");
  if (weir.team->rank() != 0) {
    if (may_replace) work = temporary_name(target, weir.id, serial);
    return {};
  }
  if (may_replace && replaceable(target)) {
    work = temporary_name(target, weir.id, serial);
    outcome.most = 1;
  }
  auto opened = system->open(work, mode);
  if (!opened) return opened.status();
  storage_ = std::move(*opened);
  return {};
} catch (const std::bad_alloc&) {
  return problem(Code::no_memory, "cannot open a file: out of memory");
}

Storage* File::Impl::get() noexcept {
  if (storage_ || !open_error_.ok()) return storage_.get();
  try {
    auto opened = system->open(replaces() ? work : target, mode == OpenMode::create ? OpenMode::update : mode);
    if (opened) storage_ = std::move(*opened);
    else open_error_ = opened.status();
  } catch (const std::bad_alloc&) {
    open_error_ = problem(Code::no_memory, "cannot open a file: out of memory");
  }
  return storage_.get();
}

Status File::Impl::check_open(const char* action) const {
  if (Status status = check_mpi(); !status.ok()) return status;
  if (closed) return problem(Code::invalid, fmt::format("cannot {} '{}': it is closed", action, path), "open it again");
  return {};
}

Result<Step> File::Impl::declare(const Declaration& declaration) {
  if (Status status = check_open("declare for"); !status.ok()) return status;
  Context::Impl& weir = *context;
  const double start = now();
  PlanRequest request;
  static const SimpleRule rule;
  request.direction = direction();
  request.model = &rule;
  std::uint64_t key = 0;
  Result<RankDeclaration> own{Status{}};
  try {
    request.limits = PlanLimits::of(settings);
    const std::uint64_t elsewhere = weir.memory_in_use() - arenas.back()->planned_buffers();
    request.limits.memory = request.limits.memory > elsewhere ? request.limits.memory - elsewhere : 0;
    if (weir.team->rank() == 0) request.storage = system->traits(work);
    own = RankDeclaration::of(declaration);
    if (own) {
      const std::string circumstances =
          fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", static_cast<int>(request.direction), request.limits.memory,
                      request.limits.buffer_size, request.limits.buffers, request.limits.aggregators,
                      request.limits.alignment, static_cast<int>(request.limits.mode), request.limits.chunk,
                      request.storage.file_system, request.storage.kind, request.storage.block, request.storage.stripe);
      key = XXH3_64bits_withSeed(circumstances.data(), circumstances.size(), own->hash());
    }
  } catch (const std::bad_alloc&) {
    own = problem(Code::no_memory, "cannot declare: out of memory", "declare fewer pieces, or boxes");
  }

  Outcome outcome;
  const auto known = own ? weir.plans.find(key) : weir.plans.end();
  outcome.vote = outcome.most = known == weir.plans.end() ? 0 : known->second.impl()->serial;
  outcome.fail(check_idle(), weir.team->rank());
  if (request.limits.memory < request.limits.buffers)
    outcome.fail(problem(Code::no_memory, fmt::format("cannot declare for '{}': other open files use all of plan.memory ({} B)",
                                                      path, settings.number("plan.memory")),
                         "close some, or raise plan.memory"), weir.team->rank());
  const Outcome& all = weir.agree(outcome, Call::declare, serial);
  if (Status status = agreed(all); !status.ok()) return status;
  if (all.vote != 0 && all.vote == all.most) return step_of(known->second, 0);

  auto made = plan_together(*weir.team, std::move(own), request);
  if (!made) return made.status();
  auto impl = std::make_shared<Plan::Impl>();
  impl->plan = std::move(*made);
  impl->team = weir.team;
  impl->serial = ++weir.plan_count;
  impl->seconds = now() - start;
  const Plan plan{impl};
  weir.plans.insert_or_assign(key, plan);
  return step_of(plan, 0);
}

Result<Step> File::Impl::step(const Plan& plan, std::uint64_t shift) {
  if (Status status = check_open("take a step in"); !status.ok()) return status;
  Context::Impl& weir = *context;
  Status mine;
  if (!plan.impl()) mine = problem(Code::invalid, "cannot use an empty plan", "make one with declare");
  else if (plan.impl()->team != weir.team)
    mine = problem(Code::invalid, "cannot use a plan of another context", "declare it in this one");
  else if (plan.impl()->plan.layout.direction != direction())
    mine = problem(Code::invalid, fmt::format("cannot use a plan for {} in '{}', which is open for {}",
                                              direction() == Direction::read ? "writing" : "reading", path,
                                              direction() == Direction::read ? "reading" : "writing"));
  Outcome outcome;
  outcome.fail(mine.ok() ? check_idle() : mine, weir.team->rank());
  outcome.vote = outcome.most = mine.ok() ? plan.impl()->serial : 0;
  const Outcome& all = weir.agree(outcome, Call::step, serial);
  if (Status status = agreed(all); !status.ok()) return status;
  if (all.vote != all.most)
    return problem(Code::mismatch, "cannot take a step: the ranks brought different plans", "pass the same plan on all ranks");
  return step_of(plan, shift);
}

Status File::Impl::check_idle() const {
  if (!moving_early) return {};
  return problem(Code::invalid, fmt::format("cannot begin another step in '{}': one has been given data", path),
                 "finish it first");
}

Result<Step> File::Impl::step_of(const Plan& plan, std::uint64_t shift) {
  auto arena = arena_for(*plan.impl());
  if (!arena) return arena.status();
  ++steps;
  return Step{std::make_shared<Step::Impl>(shared_from_this(), plan, **arena, shift)};
}

Result<Arena*> File::Impl::arena_for(const Plan::Impl& plan) {
  const Layout& layout = plan.plan.layout;
  if (layout.placement.mode == Mode::direct) return arenas.front();
  for (Arena* arena : arenas)
    if (arena->fits(plan.serial)) return arena;
  Context::Impl& weir = *context;
  // Buffers that a step uses never move: a larger plan gets an arena of its own.
  Arena* arena = arenas.back();
  if (arena->bound()) {
    Outcome outcome;
    outcome.most = arena->large_enough(layout) ? 0 : 1;
    const Outcome& all = weir.agree(outcome, Call::declare, serial);
    if (Status status = agreed(all); !status.ok()) return status;
    if (all.most != 0) {
      arena = weir.take_arena();
      if (!arena) return too_many_files();
      arenas.push_back(arena);
    }
  }
  Outcome outcome;
  outcome.fail(arena->reserve(layout), weir.team->rank());
  outcome.most = arena->moved() ? 1 : 0;
  const Outcome& all = weir.agree(outcome, Call::declare, serial);
  if (Status status = agreed(all); !status.ok()) return status;
  const bool moved = all.most != 0;
  if (Status status = weir.agree(Call::declare, serial, arena->connect(layout, moved)); !status.ok()) return status;
  if (weir.team->nodes().nodes() > 1) arena->link(settings.text("exchange.between_nodes") == "one-sided", moved);
  arena->bind(plan.serial, layout.placement.buffer_size * layout.placement.buffers);
  return arena;
}

Status File::Impl::too_many_files() const {
  return problem(Code::too_many_files, fmt::format("cannot open '{}': {} files are open in this context", path,
                                                   context->arenas.size()), "close some first");
}

Status File::Impl::sync() {
  if (Status status = check_open("sync"); !status.ok()) return status;
  context->drain();
  Status mine;
  if (storage_ && mode != OpenMode::read)
    if (const int error = storage_->sync()) mine = storage_problem(error, "sync", path);
  if (mine.ok() && context->team->rank() == 0) mine = system->sync_directory(work);
  return context->agree(Call::sync, serial, mine);
}

Status File::Impl::close() {
  if (Status status = check_open("close"); !status.ok()) return status;
  context->drain();
  Context::Impl& weir = *context;
  closed = true;
  const bool durable = mode != OpenMode::read && settings.text("storage.durability") == "durable";
  Status mine;
  if (durable && storage_)
    if (const int error = storage_->sync()) mine = storage_problem(error, "sync", path);
  if (storage_)
    if (const int error = storage_->close(); error != 0 && mine.ok()) mine = storage_problem(error, "close", path);
  storage_.reset();
  if (mine.ok() && failed_steps > 0)
    mine = problem(Code::io, fmt::format("cannot close '{}' as a whole file: {} of its steps failed", path, failed_steps),
                   replaces() ? "what was there before is untouched" : "its contents are not complete");
  Status status = weir.agree(Call::close, serial, mine);
  if (mode != OpenMode::read && (replaces() || durable)) {
    mine = {};
    if (weir.team->rank() == 0) {
      if (replaces()) mine = status.ok() ? system->rename(work, target) : (void(system->remove(work)), Status{});
      if (mine.ok() && status.ok() && durable) mine = system->sync_directory(target);
    }
    if (const Status last = weir.agree(Call::close, serial, mine); status.ok()) status = last;
  }
  for (Arena* arena : arenas) arena->give_back();
  return status;
}

void File::Impl::abandon() noexcept {
  if (mode == OpenMode::read) return;
  std::fprintf(stderr, "weir: '%s' was not closed, so %s\n", path.c_str(),
               replaces() ? "it is not there; what was there before is untouched" : "it may not be complete");
  storage_.reset();
  if (replaces() && context->team->rank() == 0) (void)system->remove(work);
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
Status File::sync() { return impl_->sync(); }
Status File::close() { return impl_->close(); }

}  // namespace weir

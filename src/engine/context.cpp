#include "engine/context.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "engine/step.hpp"

namespace weir {

const char* name(Call call) noexcept {
  switch (call) {
    case Call::none: return "nothing";
    case Call::create: return "create";
    case Call::open: return "open";
    case Call::update: return "update";
    case Call::declare: return "declare";
    case Call::step: return "step";
    case Call::finish: return "finish";
    case Call::absorb: return "absorb";
    case Call::sync: return "sync";
    case Call::close: return "close";
    case Call::save: return "save";
    case Call::load: return "load_plan";
    case Call::drain: return "drain";
    case Call::drop_out: return "nothing, for lack of memory";
  }
  return "?";
}

namespace {
Status dropped_out() noexcept {
  return problem(Code::no_memory, "cannot go on in this context: a rank had no memory to take part",
                 "give the job more memory, and make a new context");
}
}  // namespace

Status check_mpi() {
  static std::atomic<bool> started = false;  // asked once: calls that give variables should cost little
  int answer = 0;
  if (!started) {
    MPI_Initialized(&answer);
    started = answer != 0;
  }
  if (!started) return problem(Code::finalized, "cannot do anything before MPI_Init", "call MPI_Init first");
  MPI_Finalized(&answer);
  if (answer) return problem(Code::finalized, "cannot do anything after MPI_Finalize",
                            "close files and end the context before MPI_Finalize");
  return {};
}

Status agreed(const Outcome& outcome) noexcept {
  if (outcome.other_call == 0) return status_of(outcome);
  const auto call = static_cast<Call>(outcome.call >> 56), other = static_cast<Call>(outcome.other_call >> 56);
  if (other == Call::drop_out) return dropped_out();
  return problem(Code::mismatch, [&] {
    return call == other ? fmt::format("cannot {}: the ranks called it for different files or steps", name(call))
                         : fmt::format("cannot go on: some ranks called {}, others {}", name(call), name(other));
  }, "collective calls are made by all ranks in the same order");
}

namespace {

/// A write beyond the limit on file size shall be an error (EFBIG), not the end of the program.
void ignore_file_size_signal() {
  struct sigaction now {};
  if (sigaction(SIGXFSZ, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
    std::signal(SIGXFSZ, SIG_IGN);
}

/// Buffers that the first rank of each node has from the beginning: two of the size that is best on local storage, or,
/// where there may never be much to move, two of the least that is worth a call.
constexpr std::uint64_t ready_buffers = 2 << 20, few_buffers = 256 << 10;

/// Plans that a context remembers.
constexpr std::size_t most_plans = 256;
constexpr std::uint64_t most_plan_bytes = 64 << 20;

double spin_of(const ResolvedSettings& settings) {
  const std::uint64_t spin = settings.number("exchange.spin_us");
  return spin == automatic ? -1 : static_cast<double>(spin) * 1e-6;
}

}  // namespace

Result<std::shared_ptr<Context::Impl>> Context::Impl::make(MPI_Comm communicator, const Settings& given,
                                                             Buffers buffers) {
  if (Status status = check_mpi(); !status.ok()) return status;
  if (communicator == MPI_COMM_NULL)
    return problem(Code::invalid, "cannot make a context on MPI_COMM_NULL", "pass a communicator that has this rank");
  std::shared_ptr<Impl> impl;
  const Status resolved = attempt("make a context", [&]() -> Status {
    impl = std::make_shared<Impl>();
    auto settings = ResolvedSettings::resolve(given);
    if (!settings) return settings.status();
    impl->settings = std::move(*settings);
    impl->team = Team::allocate(communicator);
    return {};
  });
  // Settings may be wrong on some ranks only, so all hear of it before they do anything together.
  const int mine = static_cast<int>(resolved.code());
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, communicator);
  if (mine != 0 && mine == worst) return resolved;
  if (worst == static_cast<int>(Code::no_memory))
    return problem(Code::no_memory, "cannot make a context: another rank is out of memory", "give the job more memory");
  if (worst != 0)
    return problem(static_cast<Code>(worst), "cannot make a context: another rank has settings that cannot be used",
                   "see that rank's message; WEIR_* must be the same on all ranks");
  (void)set_log(impl->settings.text("log"));
  Team::Options options;
  options.ranks_per_node = static_cast<int>(impl->settings.number("machine.ranks_per_node"));
  options.spin_s = spin_of(impl->settings);
  options.room = 2 * impl->settings.number("plan.memory") + (std::uint64_t{16} << 20);
  options.present = buffers == Buffers::mapped;
  if (Status status = impl->prepare(impl->team->meet(options), buffers); !status.ok()) return status;
  impl->id = impl->team->id();
  if (impl->remote) impl->name_regions();
  const char* explain = std::getenv("WEIR_EXPLAIN");
  impl->explains = explain && *explain && std::string_view{explain} != "0" && impl->team->rank() == 0;
  set_log_rank(impl->team->rank());
  if (impl->team->rank() == 0)
    for (const std::string& warning : impl->settings.warnings())
      log_line(LogComponent::core, LogLevel::warn, "{}", warning);
  ignore_file_size_signal();
  return impl;
}

Result<Context> Context::Impl::make_quickly(MPI_Comm communicator) {
  auto made = make(communicator, {}, Buffers::mapped_later);
  if (!made) return made.status();
  return Context{std::move(*made)};
}

Status Context::Impl::prepare(const Status& met, Buffers buffers) {
  const std::uint64_t ready = buffers == Buffers::mapped ? ready_buffers : few_buffers;
  const std::uint64_t bytes = std::min(ready, settings.number("plan.memory"));
  Outcome outcome;
  outcome.fail(attempt("make a context", [&]() -> Status {
    if (!met.ok()) return met;
    auto made = FileSettings::of(settings, *team);
    if (!made) return made.status();
    file_settings = std::move(*made);
    if (Status status = describe(outcome); !status.ok()) return status;
    if (Status status = connect_remote(); !status.ok()) return status;
    for (int segment = Team::first_free_segment; segment < Team::handed_segment; ++segment)
      arenas.push_back(std::make_unique<Arena>(*team, segment));
    return team->leader() ? arenas.front()->reserve(bytes) : Status{};
  }), team->rank());
  const Outcome& all = team->join(outcome);
  if (all.failed()) return status_of(all);
  if (all.vote != all.most)
    return problem(Code::mismatch, "cannot make a context: machine.description gives different machines on some ranks",
                   "give all ranks the same text, or a file that all can read");
  if (Status status = arenas.front()->connect_first(buffers == Buffers::mapped ? bytes : 0); !status.ok())
    return status;
  return detect();
}

Status Context::Impl::agree(Call call, std::uint64_t object, const Status& mine) {
  Outcome outcome;
  outcome.bytes = mine.bytes();
  outcome.fail(mine, team->rank());
  return agreed(agree(outcome, call, object));
}

Outcome Context::Impl::begin(Call call, std::uint64_t object) noexcept {
  drain();
  return enter(call, object);
}

const Outcome& Context::Impl::agree(Outcome outcome, Call call, std::uint64_t object) {
  const Outcome begun = begin(call, object);
  outcome.call = begun.call;
  outcome.flags |= begun.flags;
  return team->agree(outcome);
}

Status Context::Impl::drop_out() noexcept {
  if (team->size() == 1) return problem(Code::no_memory, "cannot go on: out of memory", "give the job more memory");
  team->drop_out(call_id(Call::drop_out, 0));
  return dropped_out();
}

Status Context::Impl::check_together() const noexcept {
  if (!team->broken()) return {};
  if (static_cast<Call>(team->result().other_call >> 56) == Call::drop_out) return dropped_out();
  return problem(Code::mismatch, "cannot go on in this context: its ranks made different collective calls",
                 "collective calls are made by all ranks in the same order; make a new context");
}

Outcome Context::Impl::enter(Call call, std::uint64_t object, std::uint64_t plan_serial) noexcept {
  Outcome outcome;
  outcome.call = call_id(call, object, plan_serial);
  if (unconfirmed > 0) outcome.flags |= Outcome::committed;
  team->enter(outcome.call);
  return outcome;
}

void Context::Impl::drain() noexcept {
  while (!under_way.empty()) (void)under_way.front()->wait();
}

void Context::Impl::forget_plans() noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [key, plan] : plans) bytes += plan.impl()->list_bytes;
  while (plans.size() > 1 && (plans.size() > most_plans || bytes > most_plan_bytes)) {
    const auto oldest = std::ranges::min_element(plans, {}, [](const auto& entry) { return entry.second.impl()->serial; });
    bytes -= oldest->second.impl()->list_bytes;
    plans.erase(oldest);
  }
}

Arena* Context::Impl::take_arena(std::uint64_t plan_serial) noexcept {
  Arena* found = nullptr;
  for (auto& arena : arenas) {
    if (arena->taken()) continue;
    if (!found) found = arena.get();
    if (!arena->fits(plan_serial)) continue;
    found = arena.get();
    break;
  }
  if (found) found->take();
  return found;
}

std::uint64_t Context::Impl::memory_in_use() const noexcept {
  std::uint64_t total = 0;
  for (const auto& arena : arenas)
    total += arena->planned_buffers();
  return total;
}

Context::Context(MPI_Comm communicator, const Settings& settings) {
  auto made = Impl::make(communicator, settings);
  impl_ = std::move(made).value();
}

Result<Context> Context::make(MPI_Comm communicator, const Settings& settings) {
  auto made = Impl::make(communicator, settings);
  if (!made) return made.status();
  return Context{std::move(*made)};
}

namespace {

Result<File> opened(const std::shared_ptr<Context::Impl>& context, const std::string& path, OpenMode mode,
                    const Plan* plan, const Settings& settings) {
  if (Status status = check_mpi(); !status.ok()) return status;
  if (Status status = context->check_together(); !status.ok()) return status;
  auto file = File::Impl::open(context, path, mode, plan, settings);
  if (!file) return file.status();
  return File{std::move(*file)};
}

}  // namespace

Result<File> Context::create(const std::string& path, const Settings& settings) {
  return opened(impl_, path, OpenMode::create, nullptr, settings);
}
Result<File> Context::open(const std::string& path, const Settings& settings) {
  return opened(impl_, path, OpenMode::read, nullptr, settings);
}
Result<File> Context::update(const std::string& path, const Settings& settings) {
  return opened(impl_, path, OpenMode::update, nullptr, settings);
}
Result<File> Context::create(const std::string& path, const Plan& plan, const Settings& settings) {
  return opened(impl_, path, OpenMode::create, &plan, settings);
}
Result<File> Context::open(const std::string& path, const Plan& plan, const Settings& settings) {
  return opened(impl_, path, OpenMode::read, &plan, settings);
}
Result<File> Context::update(const std::string& path, const Plan& plan, const Settings& settings) {
  return opened(impl_, path, OpenMode::update, &plan, settings);
}

}  // namespace weir

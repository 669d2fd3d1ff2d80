#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <optional>
#include <thread>

#include "core/errors.hpp"
#include "engine/file_name.hpp"
#include "engine/file_set.hpp"
#include "storage/storage_problem.hpp"
#include "subfile/set_drain.hpp"

namespace weir {

namespace {

constexpr std::uint64_t most_buffer = 8 << 20;

/// The drained file is as old as its data, so that a copy that stays on the nodes is not taken for an older one.
Status set_time(const std::string& path, std::int64_t written_ns) {
  const timespec written{static_cast<time_t>(written_ns / 1'000'000'000),
                         static_cast<long>(written_ns % 1'000'000'000)};
  const timespec times[2] = {written, written};
  return utimensat(AT_FDCWD, path.c_str(), times, 0) == 0 ? Status{} : storage_problem(errno, "set the time of", path);
}

}  // namespace

struct Drain::Impl {
  std::shared_ptr<Context::Impl> context;
  std::shared_ptr<const FileSettings> settings;  // with a storage system that only the thread uses
  std::uint64_t serial = 0;
  std::string path, target, work;
  std::optional<NodeStore> store;
  std::unique_ptr<FileSet> set;
  std::int64_t written_ns = 0;
  std::uint64_t id = 0;
  bool keep = false;
  std::uint64_t rate = 0;
  std::optional<bool> takes_turns;  // nothing: decided by the file system
  std::unique_ptr<SetDrain> own;  // on the first rank of a node
  std::thread thread;
  std::atomic<bool> through = false;
  Status result;
  bool over = true;

  ~Impl() {
    if (over) return;
    end_thread(true);
    if (context->team->rank() == 0) (void)attempt("remove a file", [&] { return settings->system->remove(work); });
  }

  Status prepare(const std::string& name, const Settings& given, Outcome& outcome);
  Status find(const Outcome& outcome);
  Status begin(const Outcome& outcome);
  /// What the nodes after the first have, one after another. Collective.
  void copy_in_turn(const Outcome& outcome) noexcept;
  void end_thread(bool early) noexcept;
  Status install() noexcept;
};

Status Drain::Impl::prepare(const std::string& name, const Settings& given, Outcome& outcome) {
  path = name;
  if (path.empty()) return problem(Code::invalid, "cannot drain a file without a name");
  auto resolved_settings = context->settings.with(given);
  if (!resolved_settings) return resolved_settings.status();
  auto made = FileSettings::of(*resolved_settings, *context->team);
  if (!made) return made.status();
  settings = std::move(*made);
  keep = resolved_settings->flag("drain.keep");
  rate = resolved_settings->number("drain.rate");
  if (const std::string& turns = resolved_settings->text("drain.turns"); turns != "auto") takes_turns = turns == "yes";
  if (settings->node_directory.empty())
    return problem(Code::settings, fmt::format("cannot drain '{}': storage.tier is not node", path),
                   "set it, and memory.node_directory, as when the file was made");
  target = resolved(path);
  work = temporary_name(target, context->id, serial);
  store.emplace(*settings->system, settings->node_directory, target);
  outcome.vote = outcome.most = XXH3_64bits_withSeed(target.data(), target.size(), keep ? 1 : 0);
  return {};
}

Status Drain::Impl::find(const Outcome& outcome) {
  Team& team = *context->team;
  auto found = find_on_nodes(team, *store, target, outcome);
  if (!found) return found.status();
  if (!found->choice)
    return problem(
        Code::not_found,
        [&] {
          return fmt::format("cannot drain '{}': {}", path,
                             found->newer_elsewhere ? "what is in the file system is newer than what the nodes have"
                             : found->torn.empty()  ? "the nodes of this job have nothing of it"
                                                    : found->torn);
        },
        found->newer_elsewhere ? "remove that first if it is the wrong one"
                               : "run on the nodes that wrote it, with the same memory.node_directory");
  auto opened = open_on_nodes(team, *settings->system, *store, *found->choice, path, outcome);
  if (!opened) return opened.status();
  set = std::move(*opened);
  written_ns = found->choice->written_ns;
  id = found->choice->id;
  return {};
}

Status Drain::Impl::begin(const Outcome& outcome) {
  Team& team = *context->team;
  Outcome mine = outcome;
  constexpr std::uint64_t flag_turns = 1;
  mine.fail(attempt("drain a file",
                    [&]() -> Status {
                      if (team.nodes().nodes() > 1 &&
                          (takes_turns ? *takes_turns : !settings->system->traits(work).coherent))
                        mine.flags |= flag_turns;
                      if (team.leader()) {
                        own = std::make_unique<SetDrain>(*settings->system, set->lookup(), set->files(), team.node(),
                                                         std::min(most_buffer, settings->limits.memory / 2));
                        if (Status status = own->open(); !status.ok()) return status;
                      }
                      if (team.rank() != 0) return {};
                      auto made = settings->system->open(work, OpenMode::create);
                      return made.status();
                    }),
            team.rank());
  const Outcome& all = team.agree(mine);
  takes_turns = (all.flags & flag_turns) != 0;
  if (Status status = agreed(all); !status.ok()) {
    if (team.rank() == 0) (void)settings->system->remove(work);
    return status;
  }
  over = false;
  if (!own || (*takes_turns && team.node() != 0)) {
    through = true;
    return {};
  }
  try {
    thread = std::thread{[this] {
      result = attempt("drain a file", [&] { return own->run(work, rate); });
      through = true;
    }};
  } catch (const std::exception& error) {
    result =
        problem(Code::no_memory, [&] { return fmt::format("cannot drain '{}': no thread: {}", path, error.what()); });
    through = true;
  }
  return {};
}

void Drain::Impl::copy_in_turn(const Outcome& outcome) noexcept {
  Team& team = *context->team;
  for (int node = 1; node < team.nodes().nodes(); ++node) {
    Outcome before = outcome;
    before.fail(result, team.rank());
    if (team.agree(before).failed()) return;
    if (own && node == team.node()) result = attempt("drain a file", [&] { return own->run(work, rate); });
  }
}

void Drain::Impl::end_thread(bool early) noexcept {
  if (early && own) own->stop();
  if (thread.joinable()) thread.join();
  over = true;
}

/// On rank 0.
Status Drain::Impl::install() noexcept {
  StorageSystem& system = *settings->system;
  return attempt("install a file", [&]() -> Status {
    if (modified_ns(target) > written_ns)
      return problem(Code::exists, fmt::format("cannot drain '{}': it has been written anew meanwhile", path),
                     "what is there is newer, and was left alone");
    if (Status status = set_time(work, written_ns); !status.ok()) return status;
    const OldSet old{system, target};
    if (Status status = system.rename(work, target); !status.ok()) return status;
    old.remove(system);
    return system.sync_directory(target);
  });
}

Drain::Progress Drain::progress() const {
  return impl_->own ? Progress{impl_->own->done(), impl_->own->total()} : Progress{};
}

bool Drain::test() const { return impl_->through; }

Status Drain::wait() {
  Impl& drain = *impl_;
  if (Status status = check_mpi(); !status.ok()) return status;
  if (drain.over) return problem(Code::invalid, "cannot wait for a drain twice", "begin another one");
  Context::Impl& weir = *drain.context;
  if (Status status = weir.check_together(); !status.ok()) return status;
  weir.drain();
  Outcome outcome = weir.enter(Call::drain, drain.serial);
  drain.end_thread(false);
  if (*drain.takes_turns) drain.copy_in_turn(outcome);
  outcome.fail(drain.result, weir.team->rank());
  const Outcome& all = weir.team->agree_then(outcome, [&](Outcome& sum) {
    if (sum.other_call != 0) return;
    if (sum.code == 0) sum.fail(drain.install(), 0);
    if (sum.code != 0) (void)attempt("remove a file", [&] { return drain.settings->system->remove(drain.work); });
  });
  if (!all.failed() && !drain.keep && weir.team->leader()) drain.store->remove(drain.id);
  return agreed(all);
}

Result<Drain> Context::drain(const std::string& path, const Settings& settings) {
  if (Status status = check_mpi(); !status.ok()) return status;
  if (Status status = impl_->check_together(); !status.ok()) return status;
  const std::uint64_t serial = ++impl_->files;
  std::shared_ptr<Drain::Impl> drain;
  impl_->drain();
  Outcome outcome = impl_->enter(Call::drain, serial);
  const Outcome begun = outcome;
  outcome.fail(impl_->take_handicap(), impl_->team->rank());
  outcome.fail(attempt("drain a file",
                       [&] {
                         drain = std::make_shared<Drain::Impl>();
                         drain->context = impl_;
                         drain->serial = serial;
                         return drain->prepare(path, settings, outcome);
                       }),
               impl_->team->rank());
  const Outcome& all = impl_->team->agree(outcome);
  if (Status status = agreed(all); !status.ok()) {
    if (all.other_call != 0) --impl_->files;
    return status;
  }
  if (all.vote != all.most)
    return problem(
        Code::mismatch, [&] { return fmt::format("cannot drain '{}': the ranks have named different files", path); },
        "pass the same name and settings on all ranks");
  if (Status status = drain->find(begun); !status.ok()) return status;
  if (Status status = drain->begin(begun); !status.ok()) return status;
  return Drain{std::move(drain)};
}

}  // namespace weir

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

#include "core/errors.hpp"
#include "engine/file.hpp"
#include "engine/file_name.hpp"
#include "engine/step.hpp"

namespace weir {

namespace {

constexpr std::uint64_t flag_replaces = 1;  // written under a temporary name first
constexpr std::uint64_t flag_set = 16;      // the file is the index of a set
constexpr std::uint64_t flag_as_named = 32;  // the name is no link

Call call_of(OpenMode mode) {
  return mode == OpenMode::create ? Call::create : mode == OpenMode::read ? Call::open : Call::update;
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
  if (plan->impl()->set.space != 0 || weir.file_settings->files != "shared" || given.contains("plan.files") ||
      given.contains("storage.tier"))
    return false;
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
  replaces_ = (all.flags & flag_replaces) != 0;
  as_named_ = (all.flags & flag_as_named) != 0;
  const bool in_set = (all.flags & flag_set) != 0;
  if (result.ok() && in_set) result = open_set();
  if (result.ok() && mode != OpenMode::create && !settings->node_directory.empty()) result = look_on_nodes(call);
  if (result.ok() && plan_) result = check_space(*plan_);
  Arena* arena = result.ok() ? weir.take_arena(plan_ ? plan_->impl()->serial : 0) : nullptr;
  if (result.ok() && !arena) result = too_many_files();
  if (!result.ok()) {
    if (outcome.flags & flag_replaces) remove_work();  // a temporary file, never the target
    if (set_) set_->discard(false);
    return result;
  }
  arenas.push_back(arena);
  closed = false;
  return {};
}

Status File::Impl::look_on_nodes(Call call) {
  Team& team = *context->team;
  Outcome outcome;
  outcome.call = call_id(call, serial);
  auto found = find_on_nodes(team, *store_, target, outcome);
  if (!found) return found.status();
  if (found->choice) {
    if (mode == OpenMode::update)
      return problem(Code::unsupported, [&] {
        return fmt::format("cannot update '{}': it is on storage of the nodes", path);
      }, "create it anew, or drain it first");
    auto set = open_on_nodes(team, *settings->system, *store_, *found->choice, path, outcome);
    if (!set) return set.status();
    set_ = std::move(*set);
    return {};
  }
  if (team.rank() == 0)
    outcome.fail(attempt("open a file", [&] {
      const Status status = open_in_file_system(outcome);
      if (status.code() != Code::not_found || found->torn.empty()) return status;
      return problem(Code::not_found, fmt::format("cannot open '{}': {}", path, found->torn),
                     "run the job on the nodes that wrote it, or read an older file; what is not complete is never read");
    }), 0);
  const Outcome& all = team.agree(outcome);
  if (Status status = agreed(all); !status.ok()) return status;
  return all.flags & flag_set ? open_set() : Status{};
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
    if (settings->election.wants_bank() && !weir.machine)
      return problem(Code::settings,
                     fmt::format("cannot {} '{}': memory.tier and memory.persistency need to know the machine", name(call), path),
                     "set them for the context too, or machine.description=detect");
    if (settings->limits.remote == PlanLimits::Remote::must && !weir.remote)
      return problem(Code::settings, fmt::format("cannot {} '{}': the context has no memory servers", name(call), path),
                     "set remote.contact for the context");
  }
  if (plan_)
    if (Status status = check_plan(*plan_); !status.ok()) return status;
  std::string same = settings->files;  // on all ranks
  if (!settings->node_directory.empty()) {
    same += target = resolved(path);
    store_.emplace(*settings->system, settings->node_directory, target);
  }
  outcome.vote = outcome.most =
      std::uint64_t{XXH32(same.data(), same.size(), 0)} << 32 | (plan_ ? plan_->impl()->serial & 0xffffffff : 0);
  const bool makes_set = mode == OpenMode::create && settings->files != "shared";
  if (makes_set)
    if (Status status = create_set(outcome); !status.ok()) return status;
  if (plan_) first_step_ = std::make_shared<Step::Impl>(*this, *plan_);
  if (plan_ && set_) set_->expect(*plan_);
  if (makes_set) return {};
  if (!settings->node_directory.empty()) return {};  // first all look on the nodes
  return weir.team->rank() == 0 ? open_in_file_system(outcome) : Status{};
}

Status File::Impl::open_in_file_system(Outcome& outcome) {
  Context::Impl& weir = *context;
  target = work = path;
  if (mode == OpenMode::create && settings->posix) {
    const NamedFile named = file_named(path);
    target = work = named.target;
    there_before_ = named.there;
    if (!named.link) outcome.flags |= flag_as_named;
    if (settings->replace && named.plain) {
      work = temporary_name(target, weir.id, serial);
      outcome.flags |= flag_replaces;
    } else if (named.there) {
      OldSet{*settings->system, target}.remove(*settings->system);
    }
  }
  auto opened = settings->system->open(work, mode);
  if (!opened) return opened.status();
  if (mode == OpenMode::create || !FileSet::is_in(**opened, weir.team->nodes().nodes() == 1)) {
    storage_ = std::move(*opened);
    return {};
  }
  if (mode == OpenMode::update)
    return problem(Code::unsupported, fmt::format("cannot update '{}': it is a set of sub-files", path),
                   "create it anew");
  auto index = FileSet::load(*settings->system, path);
  if (!index) return index.status();
  index_ = std::move(*index);
  outcome.flags |= flag_set;
  return {};
}

Status File::Impl::create_set(Outcome& outcome) {
  Context::Impl& weir = *context;
  if (settings->memory)
    return problem(Code::unsupported,
                   fmt::format("cannot create '{}' as sub-files: ranks do not share storage.kind memory", path),
                   "set plan.files to shared, or storage.kind to posix");
  target = settings->posix ? resolved(path) : path;
  if (settings->posix && !file_named(target).plain)
    return problem(Code::exists, fmt::format("cannot create '{}' as sub-files: it is not a plain file", path),
                   "name a plain file, or set plan.files to shared");
  work = temporary_name(target, weir.id, serial);
  outcome.flags |= flag_replaces;
  FileGroups groups = FileGroups::of(settings->files, weir.team->nodes());
  set_ = std::make_unique<FileSet>(*weir.team, *settings->system, std::move(groups), target,
                                   XXH3_64bits_withSeed(&serial, sizeof serial, weir.id), store_);
  auto opened = set_->open();
  if (!opened) return opened.status();
  storage_ = std::move(*opened);
  return {};
}

Status File::Impl::open_set() {
  Outcome outcome;
  outcome.call = call_id(Call::open, serial);
  const auto make = [&](SetIndex index) {
    return std::make_unique<FileSet>(*context->team, *settings->system, std::move(index), path);
  };
  auto set = FileSet::share(*context->team, index_, outcome, path, 0, std::ref(make));
  index_ = {};
  if (set) set_ = std::move(*set);
  return set.status();
}

Storage* File::Impl::get() noexcept {
  if (storage_ || !open_error_.ok()) return storage_.get();
  open_error_ = opening_;
  if (!opening_.ok()) return nullptr;
  open_error_ = attempt("open a file", [&] {
    work = replaces() ? temporary_name(as_named_ ? path : file_named(path).target, context->id, serial) : path;
    auto opened = set_ ? set_->open() : settings->system->open(work, mode == OpenMode::create ? OpenMode::update : mode);
    if (opened) storage_ = std::move(*opened);
    return opened.status();
  });
  return storage_.get();
}

}  // namespace weir

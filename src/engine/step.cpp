#include "engine/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {

namespace {

/// Given data is moved at once when there is at least so much of it; less waits for `finish`.
constexpr std::uint64_t worth_moving = 256 << 10;

/// Stands for the memory of variables that have no bytes.
std::byte nothing;

}  // namespace

Step::Impl::Impl(File::Impl& file, Plan plan)
    : context_{*file.context},
      plan_{std::move(plan)},
      pass_{*file.context->team, own(), file, 0, file.path, nullptr, {}, {}},
      agrees_first_{agrees_first()},
      memory_(own().declaration.variables.size()) {
  if (own().layout.placement.mode == Mode::direct) {
    direct_.emplace(pass_);
  } else {
    contributor_.emplace(pass_);
    if (own().domain) aggregator_.emplace(pass_);
    for (const RelayPart& part : own().relays) relays_.push_back(std::make_unique<Relay>(pass_, part));
    if (own().remote && context_.remote) remote_.emplace(pass_, *context_.remote);
  }
  if (file.makes_checksums()) {
    std::size_t sums = 0;
    for (const std::uint64_t bytes : own().variable_bytes) {
      first_sum_.push_back(sums);
      sums += checksums_of(bytes);
    }
    sums_.resize(sums);
  }
  reset();
  if (context_.under_way.capacity() <= context_.steps) context_.under_way.reserve(2 * context_.steps + 16);
  ++context_.steps;
}

Step::Impl::~Impl() {
  --context_.steps;
  if (state_ != State::absorbed) return;
  take_back();
  if (!pass_.failed() && !remote_->lost()) return;
  ++file_->failed_steps;  // nobody waited for it: closing the file tells
  file_->failed_code = Code::io;
}

void Step::Impl::attach(std::shared_ptr<File::Impl> file, Arena& arena, StepPlace place) noexcept {
  file_ = std::move(file);
  arena_ = &arena;
  pass_.shift = place.shift;
  section_ = place.section;
  if (own().node && file_->settings->one_sided)
    pass_.link = &link_.emplace<OneSidedLink>(arena.communicator(), arena.window(), arena.base());
  else if (own().node)
    pass_.link = &link_.emplace<TwoSidedLink>(arena.communicator());
  if (contributor_) contributor_->attach(arena);
  if (aggregator_) aggregator_->attach(arena);
  for (auto& relay : relays_) relay->attach(arena);
  if (remote_) {
    context_.remote->revive();
    remote_->attach(arena.dumps().of(plan_.impl()->serial, *context_.remote));
  }
  begin_remote();
}

void Step::Impl::reset() noexcept {
  std::fill(memory_.begin(), memory_.end(), nullptr);
  for (std::size_t v = 0; v < memory_.size(); ++v)
    if (own().variable_bytes[v] == 0) memory_[v] = &nothing;
  pass_.report = {};
  pass_.outcome = {};
  given_bytes_ = 0;
  begin_remote();
  if (contributor_) contributor_->reset();
  if (aggregator_) aggregator_->reset(remote_ ? &*remote_ : nullptr);
  for (auto& relay : relays_) relay->reset();
  state_ = State::giving;
}

Status Step::Impl::give(int variable, std::byte* data, std::uint64_t bytes, Direction direction) {
  const char* verb = direction == Direction::write ? "write" : "read";
  if (Status status = file_->check_open(verb); !status.ok()) return status;
  if (state_ == State::over) reset();
  const auto fault = [&](const auto& reason, std::string_view remedy = {}) {
    return problem(Code::invalid, [&] {
      if constexpr (std::invocable<decltype(reason)>)
        return fmt::format("cannot {} variable {} of '{}': {}", verb, variable, file_->path, reason());
      else
        return fmt::format("cannot {} variable {} of '{}': {}", verb, variable, file_->path, reason);
    }, remedy);
  };
  if (direction != file_->direction())
    return fault(direction == Direction::write ? "the file is open for reading" : "the file is open for writing");
  if (started()) return fault("the step has been started", "wait for it first");
  if (variable < 0 || static_cast<std::size_t>(variable) >= memory_.size())
    return fault([&] { return fmt::format("the declaration has {}, counted from 0", memory_.size()); });
  const std::uint64_t declared = own().variable_bytes[variable];
  if (bytes != declared)
    return fault([&] { return fmt::format("{} bytes given, {} declared on this rank", bytes, declared); },
                 "pass the declared size");
  if (bytes == 0) return {};
  if (!data) return fault("the buffer is null", "pass its address");
  if (memory_[variable]) return fault("it was given already in this step", "finish the step first");
  memory_[variable] = data;
  given_bytes_ += bytes;
  if (!sums_.empty()) make_checksums(data, bytes, sums_.data() + first_sum_[static_cast<std::size_t>(variable)]);
  if (direct_) {
    direct_->move(static_cast<std::size_t>(variable), data);
  } else if (given_bytes_ >= worth_moving && file_->steps == 1) {
    given_bytes_ = 0;
    file_->moving_early = true;
    progress(false);
  }
  return {};
}

bool Step::Impl::agrees_first() const noexcept {
  const Layout& layout = own().layout;
  return layout.direction == Direction::read && layout.placement.mode == Mode::aggregate && !own().remote &&
         pass_.team.nodes().nodes() == 1 && layout.domains.size() == 1 &&
         layout.domains.front().windows <= layout.placement.buffers;
}

bool Step::Impl::moved_all() const noexcept {
  if (direct_) return direct_->done();
  if (through_remote_) return stage_done();
  if (agrees_first_ && state_ != State::taking) return !aggregator_ || aggregator_->loaded();
  if (!contributor_->done() || (aggregator_ && !aggregator_->done())) return false;
  for (const auto& relay : relays_)
    if (!relay->done()) return false;
  return true;
}

bool Step::Impl::polls() const noexcept {
  if (through_remote_) return remote_->polls();
  if (aggregator_ && aggregator_->polls()) return true;
  for (const auto& relay : relays_)
    if (relay->polls()) return true;
  return false;
}

bool Step::Impl::storing() const noexcept {
  return direct_ ? direct_->storing() : aggregator_ && aggregator_->storing();
}

bool Step::Impl::progress(bool head) noexcept {
  bool moved = false;
  if (through_remote_) {
    moved = progress_remote();
  } else {
    if (direct_) moved = direct_->progress();
    if (contributor_ && (!agrees_first_ || state_ == State::taking))
      moved = contributor_->progress(memory_, agrees_first_) || moved;
    if (aggregator_) moved = aggregator_->progress() || moved;
    for (auto& relay : relays_) moved = relay->progress() || moved;
  }
  if (!head || held_) return moved;
  if (state_ == State::moving && moved_all()) {
    arrive();
    moved = true;
  }
  if (state_ == State::arrived && pass_.team.complete()) {
    go_on();
    moved = true;
  }
  if (state_ == State::taking && moved_all()) {
    end_moving();
    conclude();
    moved = true;
  }
  return moved;
}

void Step::Impl::arrive() noexcept {
  if (!agrees_first_) {
    end_moving();
  } else {
    if (aggregator_) aggregator_->serve();
    for (const Transfer& transfer : own().route.transfers) pass_.outcome.bytes += transfer.bytes;
  }
  if (through_remote_ && remote_->lost()) {
    pass_.outcome.flags |= remote_->is_stale() ? Outcome::stale : Outcome::lost;
    if (absorbs_ && stage_ == Stage::carry)
      pass_.fail(problem(Code::io, [&] {
        return fmt::format("cannot store '{}': what remote memory had absorbed is lost ({})", file_->path,
                           remote_->loss().message());
      }, "write it again"));
    else if (!context_.remote->falls_back)
      pass_.fail(remote_->loss());
  }
  pass_.team.arrive(pass_.outcome);
  state_ = State::arrived;
}

void Step::Impl::end_moving() noexcept {
  if (aggregator_) aggregator_->clear();
  if (agrees_first_ && aggregator_)
    for (int rank = 0; rank < pass_.team.local_size(); ++rank) pass_.team.doorbell(rank).ring();  // who is ahead may wait
  for (auto& relay : relays_) relay->clear();
  if (own().layout.direction == Direction::read) pass_.outcome.bytes = pass_.report.bytes;
}

void Step::Impl::echo() noexcept {
  if (!own().echoes) return;
  const RankDeclaration& declaration = own().declaration;
  for (std::size_t v = 0; v < memory_.size(); ++v)
    for (const Echo& echo : declaration.memory[declaration.variables[v].shape].echoes)
      std::memcpy(memory_[v] + echo.to, memory_[v] + echo.from, echo.length);
}

void Step::Impl::conclude() noexcept {
  Outcome all = pass_.team.result();
  if (agrees_first_ && all.failed()) all.bytes = 0;  // nobody has taken any
  result_ = agreed(all);
  if (result_.ok() && own().layout.direction == Direction::read) echo();
  last_ = pass_.report;
  last_s_ = now() - started_at_;
  if (result_.ok() == failed_before_) file_->failed_steps += result_.ok() ? std::size_t(-1) : 1;
  failed_before_ = !result_.ok();
  if (result_.ok()) file_->stored(section_, sums_);
  if (failed_before_) file_->failed_code = result_.code();
  file_->forget_open_error();
  file_->confirm();
  held_ = false;
  state_ = State::over;
  if (context_.explains)
    try {
      fmt::print(stderr, "weir: '{}' {}", file_->path, explain());
    } catch (const std::exception&) {  // not worth failing a step
    }
  auto& queue = context_.under_way;
  if (!queue.empty() && queue.front().get() == this) queue.erase(queue.begin());
}

Status Step::Impl::start(Call call) {
  if (Status status = file_->check_open("finish a step in"); !status.ok()) return status;
  if (file_->absorbed && file_->absorbed != this) return file_->check_idle();
  if (started() && state_ != State::over) return problem(Code::invalid, "cannot start a step twice", "wait for it first");
  if (state_ == State::over) reset();
  started_at_ = now();
  const Outcome begun = context_.enter(call, file_->serial, plan_.impl()->serial);
  pass_.outcome.call = begun.call;
  pass_.outcome.flags |= begun.flags;
  pass_.fail(file_->opening());
  for (std::size_t v = 0; v < memory_.size(); ++v)
    if (!memory_[v]) {
      const char* verb = own().layout.direction == Direction::write ? "written" : "read";
      pass_.fail(problem(Code::invalid, [&] {
        return fmt::format("cannot finish the step in '{}': variable {} was declared and not {} on rank {}", file_->path, v,
                           verb, pass_.team.rank());
      }, "give every variable, or declare no pieces for it on that rank"));
      if (contributor_) contributor_->give_up();
      break;
    }
  state_ = State::moving;
  file_->moving_early = false;
  context_.under_way.push_back(shared_from_this());
  return {};
}

bool Step::Impl::progress_all(bool& poll) noexcept {
  auto& queue = context_.under_way;
  bool moved = false;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto step = queue[i];
    const auto same_file = [&](const std::shared_ptr<Impl>& other) { return other->file_ == step->file_; };
    if (std::any_of(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(i), same_file)) continue;
    moved = step->progress(i == 0) || moved;
    poll = poll || step->polls();
    if (step->over()) return true;  // and no longer in the queue
  }
  return moved;
}

bool Step::Impl::test() {
  if (state_ == State::absorbed) return background_done_.load();
  const auto keep = shared_from_this();
  bool poll = false;
  progress_all(poll);
  return state_ == State::over;
}

void Step::Impl::work_until(const std::function<bool()>& done) {
  const auto keep = shared_from_this();
  auto& queue = context_.under_way;
  Team& team = pass_.team;
  Patience patience{team.storing_spin_s()}, unwoken{team.storing_spin_s()};
  Nap nap;
  double since = 0;  // when it began to sleep
  while (!done() && !team.broken()) {
    const std::uint32_t heard = team.own_doorbell().listen();
    bool poll = false;
    if (progress_all(poll)) {
      patience.renew();
      unwoken.renew();
      nap.renew();
      since = 0;
      continue;
    }
    const double start = now();
    if (poll && through_remote_) {
      // It has slept until there was news.
    } else if (poll) {
      unwoken.pause();
    } else if (queue.front().get() == this && arrived()) {
      const bool over_network = through_remote_ && remote_->over_network();
      team.wait_for_result(over_network ? team.over_network_spin_s() : team.storing_spin_s());
      const double left = now();
      pass_.report.meeting_s += left - start;
      pass_.report.leaving_s += std::max(0.0, left - std::max(start, team.announced_s()));
      pass_.report.wait_s += left - start;
      go_on();
      continue;
    } else if (storing()) {
      file_->get()->wait();
    } else if (queue.front()->arrived()) {
      unwoken.pause();
    } else if (!patience.poll()) {
      if (since == 0) since = clock_s();
      if (!team.deserted()) team.sleep(heard, nap);
      (void)team.diverged(since);
    }
    pass_.report.wait_s += now() - start;
  }
  if (team.broken()) break_off();
}

void Step::Impl::break_off() noexcept {
  auto& queue = context_.under_way;
  while (!queue.empty()) {
    const auto step = queue.front();
    while (step->storing()) {
      step->file_->get()->wait();
      step->progress(false);
    }
    step->conclude();
  }
}

Status Step::Impl::wait() {
  if (state_ == State::giving)
    return problem(Code::invalid, "cannot wait for a step that was not started", "call start or finish");
  if (state_ == State::absorbed) {
    take_back();
    const Outcome begun = context_.enter(Call::finish, file_->serial, plan_.impl()->serial);
    pass_.outcome.call = begun.call;
    pass_.outcome.flags |= begun.flags;
    state_ = State::moving;
    context_.under_way.push_back(shared_from_this());
  }
  work_until([this] { return over(); });
  return result_;
}

bool Step::Impl::may_arrive() const noexcept {
  return state_ == State::over || (context_.under_way.front().get() == this && moved_all());
}

Status Step::Impl::start_for_close() {
  if (Status status = start(Call::close); !status.ok()) return status;
  held_ = true;
  work_until([this] { return may_arrive(); });
  if (state_ != State::over) end_moving();
  return {};
}

Report Step::Impl::report() const {
  Report report = last_;
  report.list_bytes = own().list_bytes();
  report.buffer_bytes = ArenaShape::of(own().layout, pass_.team.nodes(), pass_.team.rank()).data_bytes();
  return report;
}

std::string Step::Impl::explain() const {
  std::string text = explain_plan(own().layout, pass_.team.nodes());
  if (plan_.impl()->seconds > 0) text += fmt::format("planned in {}\n", format_seconds(plan_.impl()->seconds));
  if (own().layout.placement.remote && !remote_)
    text += "not through remote memory: this context has no memory servers\n";
  if (remote_ && remote_->in_place() > 0)
    text += fmt::format(
        "{} windows of rank {} needed no buffer: they are stored from remote memory itself, or loaded to it\n",
        remote_->in_place(), pass_.team.rank());
  if (!loss_.empty()) text += fmt::format("the last pass did not go through remote memory: {}\n", loss_);
  double predicted = own().layout.placement.predicted_s;
  if (own().layout.placement.details.empty() && pass_.team.nodes().nodes() == 1)
    if (const auto machine = context_.machine_in_sight()) {
      Opinion opinion = opinion_on(own().layout, pass_.team.nodes(), *machine);
      text += opinion.text;
      predicted = opinion.predicted_s;
    }
  if (arena_ && own().layout.placement.mode != Mode::direct) text += arena_->where_all();
  if (last_s_ > 0 && predicted > 0)
    text += fmt::format("predicted {}, measured {}\n", format_seconds(predicted), format_seconds(last_s_));
  if (last_s_ > 0)
    text += fmt::format("last pass on rank {}: finished in {}, {} copied in {}, {} {} in {} calls and {}, of it {} beside "
                        "aggregation, waited {}\n",
                        pass_.team.rank(), format_seconds(last_s_), format_bytes(last_.bytes),
                        format_seconds(last_.copy_s), format_bytes(last_.stored_bytes),
                        own().layout.direction == Direction::write ? "stored" : "loaded", last_.storage_calls,
                        format_seconds(last_.storage_s), format_bytes(last_.stored_while_aggregating),
                        format_seconds(last_.wait_s));
  return text;
}

Status Step::write(int variable, const void* data, std::uint64_t bytes) {
  auto* memory = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  return impl_->give(variable, memory, bytes, Direction::write);
}
Status Step::read(int variable, void* data, std::uint64_t bytes) {
  return impl_->give(variable, static_cast<std::byte*>(data), bytes, Direction::read);
}
Status Step::finish() {
  if (Status status = impl_->start(); !status.ok()) return status;
  return impl_->wait();
}
Status Step::start() { return impl_->start(); }
bool Step::test() { return impl_->test(); }
Status Step::wait() { return impl_->wait(); }
Status Step::absorb() { return impl_->absorb(); }
std::string Step::explain() const { return impl_->explain(); }
Report Step::report() const { return impl_->report(); }
Plan Step::plan() const { return impl_->plan(); }

std::uint64_t Plan::hash() const { return impl_->plan.layout.hash; }
std::string Plan::text() const { return plan_text(impl_->plan.layout, impl_->team->nodes()); }
std::string Plan::explain() const { return explain_plan(impl_->plan.layout, impl_->team->nodes()); }

}  // namespace weir

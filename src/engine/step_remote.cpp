#include <sys/resource.h>
#include <unistd.h>

#include <ctime>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "engine/step.hpp"

namespace weir {
namespace {

/// Has this thread, and no other, come after the program itself where processors are scarce.
void come_later() noexcept {
  constexpr int nicer = 10;
  const auto thread = static_cast<id_t>(::gettid());
  ::setpriority(PRIO_PROCESS, thread, ::getpriority(PRIO_PROCESS, thread) + nicer);
}

/// Until the other ranks of this node have left the meeting too, which they need processors for; not for long.
void let_others_leave(Team& team, std::uint32_t meeting) noexcept {
  constexpr double most_s = 0.01;
  constexpr timespec while_ns{0, 100'000};
  const Deadline deadline = Deadline::in(most_s);
  while (!team.all_heard(meeting) && !deadline.is_over()) ::nanosleep(&while_ns, nullptr);
}

}  // namespace

void Step::Impl::begin_remote() noexcept {
  absorbs_ = false;
  loss_.clear();
  through_remote_ = remote_.has_value();
  if (!remote_) return;
  remote_->reset();
  if (own().layout.direction == Direction::write)
    stage_ = Stage::own;
  else
    stage_ = remote_->prepared() ? Stage::carry : Stage::prepare;
}

bool Step::Impl::progress_remote() noexcept {
  switch (stage_) {
    case Stage::prepare: return (void)remote_->prepare_own(), false;
    case Stage::own: return remote_->move_own(memory_);
    case Stage::carry: break;
  }
  return aggregator_ && aggregator_->progress();
}

bool Step::Impl::stage_done() const noexcept {
  switch (stage_) {
    case Stage::prepare: return !remote_->awaits_room() || pass_.failed();
    case Stage::own: return remote_->own_done();
    case Stage::carry: break;
  }
  return !aggregator_ || (remote_->carried_all() && !aggregator_->storing() && !remote_->polls());
}

bool Step::Impl::next_stage() noexcept {
  const bool write = own().layout.direction == Direction::write;
  if (stage_ == Stage::prepare) remote_->set_prepared();
  const bool round_over = stage_ == (write ? Stage::carry : Stage::own);
  if (round_over && !remote_->next_round()) return false;
  stage_ = stage_ == Stage::carry ? Stage::own : Stage::carry;
  return true;
}

void Step::Impl::leave_remote() noexcept {
  through_remote_ = false;
  if (remote_->lost()) {
    try {
      loss_ = remote_->loss().message();
      log_line(LogComponent::core, LogLevel::warn, "'{}' is moved without remote memory: {}", file_->path, loss_);
    } catch (const std::exception&) {  // not worth failing a step
    }
  }
  pass_.report = {};
  pass_.outcome.bytes = 0;
  pass_.outcome.flags &= ~(Outcome::lost | Outcome::stale);
  if (aggregator_) aggregator_->reset();
}

void Step::Impl::go_on() noexcept {
  const Outcome& all = pass_.team.result();
  if (agrees_first_ && !all.failed()) {
    state_ = State::taking;
    progress(true);
    return;
  }
  if (agrees_first_) end_moving();
  if (through_remote_ && (all.flags & Outcome::lost)) context_.remote->lose();
  if (!through_remote_ || all.failed()) return conclude();
  if (all.flags & (Outcome::lost | Outcome::stale))
    leave_remote();
  else if (!next_stage())
    return conclude();
  state_ = State::moving;
  if (absorbs_ && through_remote_) leave_to_background();
}

void Step::Impl::carry_all() noexcept {
  remote_->carry_in_background();
  Patience patience{pass_.team.storing_spin_s()};
  while (!stage_done()) {
    if (aggregator_->progress())
      patience.renew();
    else if (aggregator_->storing())
      file_->get()->wait();
    else
      patience.pause();
  }
  background_done_.store(true);
}

void Step::Impl::leave_to_background() noexcept {
  state_ = State::absorbed;
  file_->absorbed = this;
  std::erase_if(context_.under_way, [this](const auto& step) { return step.get() == this; });
  if (!aggregator_) return;
  background_done_.store(false);
  try {
    background_ = std::thread{[this, meeting = pass_.team.agreements()] {
      come_later();
      let_others_leave(pass_.team, meeting);
      carry_all();
    }};
  } catch (const std::exception&) {
    carry_all();
  }
}

void Step::Impl::take_back() noexcept {
  if (background_.joinable()) background_.join();
  if (file_) file_->absorbed = nullptr;
}

Status Step::Impl::absorb() {
  if (own().layout.direction == Direction::read || !remote_ || remote_->in_rounds()) {
    const Status started = start();
    return started.ok() ? wait() : started;
  }
  if (Status status = start(Call::absorb); !status.ok()) return status;
  absorbs_ = true;
  work_until([this] { return over() || state_ == State::absorbed; });
  return state_ == State::absorbed ? Status::done(own().layout.bytes) : result_;
}

}  // namespace weir

#include "core/log.hpp"
#include "engine/step.hpp"

namespace weir {

void Step::Impl::begin_remote() noexcept {
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
    case Stage::prepare: return true;
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
  pass_.outcome.flags &= ~Outcome::lost;
  if (aggregator_) aggregator_->reset();
}

void Step::Impl::go_on() noexcept {
  const Outcome& all = pass_.team.result();
  if (!through_remote_ || all.failed()) return conclude();
  if (all.flags & Outcome::lost)
    leave_remote();
  else if (!next_stage())
    return conclude();
  state_ = State::moving;
}

}  // namespace weir

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "engine/aggregator.hpp"
#include "engine/contributor.hpp"
#include "engine/direct.hpp"
#include "engine/file.hpp"
#include "engine/relay.hpp"
#include "engine/three_phase.hpp"

namespace weir {

struct Step::Impl : std::enable_shared_from_this<Step::Impl> {
  /// Allocates all that the step will ever need, so that a rank which has no memory can say so before the ranks begin.
  Impl(File::Impl& file, Plan plan);
  ~Impl();
  /// Begins: from now on it keeps the file, has the buffers of the plan, and all offsets are moved by `shift`.
  void attach(std::shared_ptr<File::Impl> file, Arena& arena, StepPlace place) noexcept;

  Status give(int variable, std::byte* data, std::uint64_t bytes, Direction direction);
  Status start(Call call = Call::finish);
  bool test();
  Status wait();
  Status absorb();
  /// Starts and moves everything, but leaves the agreement to the caller, who then calls `conclude`.
  Status start_for_close();
  /// What this rank brings to that agreement.
  [[nodiscard]] const Outcome& outcome() const noexcept { return pass_.outcome; }
  /// All ranks have agreed: the team's result is the step's.
  void conclude() noexcept;
  /// Whether the ranks meet in the middle of it.
  [[nodiscard]] bool remote() const noexcept { return remote_.has_value(); }
  [[nodiscard]] const File::Impl* file() const noexcept { return file_.get(); }

  /// Moves what can be moved; for a started step at the head of the queue also completes it.
  bool progress(bool head) noexcept;
  [[nodiscard]] bool started() const noexcept { return state_ != State::giving; }
  [[nodiscard]] bool arrived() const noexcept { return state_ == State::arrived; }
  [[nodiscard]] bool over() const noexcept { return state_ == State::over; }
  [[nodiscard]] bool polls() const noexcept;
  [[nodiscard]] bool storing() const noexcept;

  [[nodiscard]] std::string explain() const;
  [[nodiscard]] Report report() const;
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }

 private:
  enum class State : std::uint8_t { giving, moving, arrived, taking, absorbed, over };
  [[nodiscard]] const RankPlan& own() const noexcept { return plan_.impl()->plan; }
  /// What a step through remote memory does between two meetings.
  enum class Stage : std::uint8_t { prepare, own, carry };
  [[nodiscard]] bool moved_all() const noexcept;
  /// Reading through one aggregator whose buffers hold everything: the ranks agree once it is there, and then each takes
  /// its part and goes. Otherwise they take their parts first and then wait for one another again.
  [[nodiscard]] bool agrees_first() const noexcept;
  [[nodiscard]] bool stage_done() const noexcept;
  void begin_remote() noexcept;
  bool progress_remote() noexcept;
  /// The ranks have met: the next stage, the ordinary way when remote memory is lost, or the end.
  void go_on() noexcept;
  /// Whether there is a next stage.
  bool next_stage() noexcept;
  void leave_remote() noexcept;
  /// All data is in remote memory: the rest is left to a thread.
  void leave_to_background() noexcept;
  void carry_all() noexcept;
  void take_back() noexcept;
  void arrive() noexcept;
  /// Whether the ranks may agree on the step: all its data has moved, and it is the next in line.
  [[nodiscard]] bool may_arrive() const noexcept;
  void work_until(const std::function<bool()>& done);
  /// The data of this pass has moved: leaves everything as the next pass wants it.
  void end_moving() noexcept;
  /// The ranks went different ways: ends all started steps.
  void break_off() noexcept;
  /// Moves all started steps forward, those of one file one after another; `poll` when only polling helps.
  bool progress_all(bool& poll) noexcept;
  /// Fills memory that stands for bytes read into another place.
  void echo() noexcept;
  void reset() noexcept;

  std::shared_ptr<File::Impl> file_;
  const Arena* arena_ = nullptr;
  Context::Impl& context_;
  Plan plan_;
  std::size_t section_ = 0;
  std::variant<std::monostate, TwoSidedLink, OneSidedLink> link_;
  Pass pass_;
  std::optional<Contributor> contributor_;
  std::optional<Aggregator> aggregator_;
  std::vector<std::unique_ptr<Relay>> relays_;
  std::optional<Direct> direct_;
  std::optional<ThreePhase> remote_;
  bool through_remote_ = false;
  Stage stage_ = Stage::own;
  bool absorbs_ = false;  // in this pass
  const bool agrees_first_;
  std::thread background_;
  std::atomic<bool> background_done_ = true;
  std::string loss_;  // why the last pass went the ordinary way
  std::vector<std::byte*> memory_;
  std::vector<std::uint64_t> sums_;      // checksums of all variables, one after another, where the file has them
  std::vector<std::size_t> first_sum_;  // by variable
  std::uint64_t given_bytes_ = 0;
  State state_ = State::giving;
  bool failed_before_ = false;
  bool held_ = false;  // `close` agrees for it
  double started_at_ = 0;
  Status result_;
  Report last_;
  double last_s_ = 0;
};

}  // namespace weir

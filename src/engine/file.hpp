#pragma once

#include <functional>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "engine/context.hpp"
#include "engine/file_set.hpp"
#include "engine/pass.hpp"

namespace weir {

inline Direction direction_of(OpenMode mode) noexcept {
  return mode == OpenMode::read ? Direction::read : Direction::write;
}

/// Arenas of a file: never more than there are.
class ArenaList {
 public:
  void push_back(Arena* arena) noexcept { arenas_[count_++] = arena; }
  [[nodiscard]] Arena* front() const noexcept { return arenas_[0]; }
  [[nodiscard]] Arena* back() const noexcept { return arenas_[count_ - 1]; }
  [[nodiscard]] auto begin() const noexcept { return arenas_.begin(); }
  [[nodiscard]] auto end() const noexcept { return arenas_.begin() + static_cast<std::ptrdiff_t>(count_); }

 private:
  std::array<Arena*, Team::segments> arenas_{};
  std::size_t count_ = 0;
};

struct File::Impl : LazyStorage, std::enable_shared_from_this<File::Impl> {
  std::shared_ptr<Context::Impl> context;
  std::shared_ptr<const FileSettings> settings;
  std::string path;      ///< as the user said it
  std::string target;    ///< the plain file it stands for
  std::string work;      ///< where the data goes until `close`
  OpenMode mode = OpenMode::read;
  std::uint64_t serial = 0;
  ArenaList arenas;              ///< buffers of its steps; the last one is for new plans
  bool closed = true;            ///< until this rank, or all together, have it open
  std::size_t failed_steps = 0;  ///< steps whose last pass failed
  Code failed_code = Code::io;   ///< of the last of them
  std::size_t steps = 0;         ///< made so far; data moves before `finish` only while there is one
  bool moving_early = false;     ///< a step has moved data and was not started
  Step::Impl* absorbed = nullptr;  ///< a step whose data a thread is storing

  static Result<std::shared_ptr<Impl>> open(std::shared_ptr<Context::Impl> context, const std::string& path,
                                            OpenMode mode, const Plan* plan, const Settings& given);
  ~Impl() override;

  Storage* get() noexcept override;
  [[nodiscard]] const Status& error() const noexcept override {
    return set_ && open_error_.ok() ? set_->open_problem() : open_error_;
  }
  [[nodiscard]] bool fresh() const noexcept override { return mode == OpenMode::create; }
  [[nodiscard]] Place place_of(std::uint64_t offset) const override;
  /// A pass is over: the next one may try again to open the file.
  void forget_open_error() noexcept {
    open_error_ = {};
    if (set_) set_->forget_problem();
  }
  /// A pass over a step of this section has succeeded.
  void stored(std::size_t section, std::span<const std::uint64_t> sums) noexcept {
    if (set_) set_->stored(section, sums);
  }
  /// Whether ranks make checksums of what they write.
  [[nodiscard]] bool makes_checksums() const noexcept { return set_ && set_->writes(); }

  Result<Step> declare(const Declaration& declaration);
  /// The same with what `declared` gives; when it finds no memory, all ranks hear of it.
  Result<Step> declare(const std::function<Result<RankDeclaration>()>& declared);
  Result<Step> step(const Plan& plan, std::uint64_t shift);
  Result<Step> step(std::uint64_t shift);
  /// A step of the plan that this rank thinks fits, moved by `shift`; a rank without pieces gives no shift. Nothing unless
  /// all ranks bring the same plan and shift. An error of any rank's `mine` comes back on all, and so do up to 8 bits
  /// of `wishes`.
  /// Collective.
  Result<std::optional<Step>> repeat(const Plan* plan, std::optional<std::uint64_t> shift, const Status& mine,
                                      std::uint64_t& wishes);
  Status sync();
  Status close();
  Status close(Step::Impl& last);

  /// What went wrong on this rank when the file was opened, as long as the ranks have not agreed on it.
  [[nodiscard]] const Status& opening() const noexcept { return opening_; }
  /// The ranks have agreed on something about this file, `opening` included.
  void confirm() noexcept;

  [[nodiscard]] Direction direction() const noexcept { return direction_of(mode); }
  /// Whether the data goes to a temporary name first.
  [[nodiscard]] bool replaces() const noexcept { return replaces_; }
  [[nodiscard]] Status check_open(const char* action) const noexcept;
  /// An error while a step is under way that others would disturb.
  [[nodiscard]] Status check_idle() const noexcept;

 private:
  /// Whether no rank needs to know what the others' opening came to before it begins a step.
  static bool opens_alone(const Context::Impl& weir, OpenMode mode, const Plan* plan, const Settings& given);
  Status open_alone(Call call);
  Status open_together(Call call);
  Status attempt_open(Call call, Outcome& outcome) noexcept;
  Status open_here(Call call, Outcome& outcome);
  /// Meets all ranks; what went wrong when opening counts.
  const Outcome& agree(Outcome outcome, Call call);
  /// Closes this rank's part, adding to the outcome, and meets all ranks.
  Status close_together(Outcome outcome, Step::Impl* last);
  /// On rank 0.
  Status open_in_file_system(Outcome& outcome);
  /// Local: a new set of sub-files.
  Status create_set(Outcome& outcome);
  /// Rank 0 has found a set: all get its index. Collective.
  Status open_set();
  /// Looks for the file on the nodes, and opens it there if it is. Collective.
  Status look_on_nodes(Call call);
  /// That the plan is for such sub-files as this file has.
  [[nodiscard]] Status check_space(const Plan& plan) const;
  [[nodiscard]] Status other_space() const;
  /// Whether a step must be declared anew: elsewhere in a set lies something else, in other pieces.
  [[nodiscard]] bool is_elsewhere(std::uint64_t shift) const noexcept { return set_ && !set_->writes() && shift != 0; }
  /// Local: a step, or why there is none.
  std::shared_ptr<Step::Impl> make_step(const Plan& plan, Status& why_not) noexcept;
  /// The step gets its buffers.
  Result<Step> begin(std::shared_ptr<Step::Impl> step, Result<Arena*> arena, std::uint64_t shift) noexcept;
  /// After all ranks have brought their part of a step.
  Result<Step> step_together(std::shared_ptr<Step::Impl> step, const Plan& plan, std::uint64_t shift, Outcome outcome);
  [[nodiscard]] Status check_plan(const Plan& plan) const noexcept;
  /// Buffers fit for a plan on every rank, if `mine` is well on every rank; when the ranks do not meet for it and `mine`
  /// is not well, this rank drops out. Collective.
  Result<Arena*> arena_for(const Plan::Impl& plan, const Status& mine = {});
  /// Local: makes an arena large enough, or says in the outcome's flags why not.
  void reserve(Arena& arena, const Layout& layout, Outcome& outcome) noexcept;
  /// All ranks tell where their buffers are. Collective.
  Status tell_places(Arena& arena);
  /// After the agreement on `reserve`. Collective.
  Result<Arena*> settle(Arena* arena, const Plan::Impl& plan, std::uint64_t flags);
  [[nodiscard]] Status too_many_files() const noexcept;
  /// On rank 0, when all have closed: the new file takes its name, or is removed.
  Status install(bool complete, bool durable) noexcept;
  void abandon() noexcept;
  void remove_work() noexcept;

  std::unique_ptr<FileSet> set_;  // for sub-files; outlives their storage
  std::unique_ptr<Storage> storage_;
  Status open_error_;
  Status opening_;
  bool confirmed_ = true;
  Settings given_;
  std::optional<Plan> plan_;  // the one it was opened with
  std::shared_ptr<Step::Impl> first_step_;  // of that plan, made when the file was opened
  bool replaces_ = false;
  bool as_named_ = false;      // rank 0 found no link there
  bool there_before_ = true;   // on rank 0: something was there that a new file replaces
  std::optional<StorageTraits> traits_;  // on rank 0, once it was asked
  std::vector<std::byte> index_;  // on rank 0, while a set is opened
  std::optional<NodeStore> store_;  // where files are on the nodes
};

Status different_plans() noexcept;

}  // namespace weir

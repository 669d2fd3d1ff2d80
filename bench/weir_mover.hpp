#pragma once

#include <optional>
#include <weir/weir.hpp>

#include "mover.hpp"

namespace weir::bench {

/// `settings`, with `more` in place of those that are in both.
Settings merged(Settings settings, const Settings& more);

/// Weir itself. A first step has a context that has not seen the pattern; a repeated one the plan of an earlier step.
class WeirMover : public Mover {
 public:
  /// What ends a write while the clock runs: the file is closed, or memory servers have absorbed the data.
  enum class Ends : std::uint8_t { closed, absorbed };
  WeirMover(MPI_Comm communicator, Settings settings, std::string name = "weir", Ends ends = Ends::closed);

  [[nodiscard]] std::string name() const override { return name_; }
  void prepare(const Scene& scene, Operation operation, StepKind step) override;
  void move(const Scene& scene, Operation operation) override;
  void settle() override;

  /// Of the last move, on this rank.
  [[nodiscard]] Report report() const { return last_->report(); }
  [[nodiscard]] std::uint64_t plan_hash() const { return last_->plan().hash(); }

 private:
  Result<File> open(const Scene& scene, Operation operation);

  MPI_Comm communicator_;
  Settings settings_;
  std::string name_;
  Ends ends_;
  std::optional<Context> context_;
  std::optional<Plan> plan_;  ///< of `planned_for`; none: the next move declares
  Operation planned_for_ = Operation::write;
  std::optional<Step> last_;
  std::optional<File> absorbing_;  ///< of `last_`
};

}  // namespace weir::bench

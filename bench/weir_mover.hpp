#pragma once

#include <optional>
#include <weir/weir.hpp>

#include "mover.hpp"

namespace weir::bench {

/// Weir itself. A first step has a context that has not seen the pattern; a repeated one the plan of an earlier step.
class WeirMover : public Mover {
 public:
  WeirMover(MPI_Comm communicator, Settings settings, std::string name = "weir");

  [[nodiscard]] std::string name() const override { return name_; }
  void prepare(const Scene& scene, Operation operation, StepKind step) override;
  void move(const Scene& scene, Operation operation) override;

  /// Of the last move, on this rank.
  [[nodiscard]] Report report() const { return last_->report(); }

 private:
  Result<File> open(const Scene& scene, Operation operation);

  MPI_Comm communicator_;
  Settings settings_;
  std::string name_;
  std::optional<Context> context_;
  std::optional<Plan> plan_;  ///< of `planned_for`; none: the next move declares
  Operation planned_for_ = Operation::write;
  std::optional<Step> last_;
};

}  // namespace weir::bench

#pragma once

#include <functional>
#include <random>

#include "mover.hpp"
#include "stopwatch.hpp"

namespace weir::bench {

/// Runs movers on one workload, times them and checks what they moved.
class Trial {
 public:
  Trial(MPI_Comm communicator, const Workload& workload, const Request& request);

  [[nodiscard]] const Scene& scene() const noexcept { return scene_; }

  struct Outcome {
    double seconds = 0;   ///< from when the first rank leaves the barrier until the last has closed
    std::string problem;  ///< what was wrong with the contents
    double busy_s = 0;    ///< of all processors of the first rank's machine, meanwhile
    double carried_bytes = 0;  ///< on the link to a storage host that carried most, meanwhile; 0: unknown
  };
  /// Collective; the same outcome on every rank.
  Outcome run(Mover& mover, Operation operation, StepKind step);
  /// What a run that does nothing takes: the median of 15. Collective.
  double empty_run();

 private:
  void lay_out(Operation operation);
  void put_contents();

  MPI_Comm communicator_;
  Stopwatch stopwatch_;
  Buffers buffers_;
  Scene scene_;
  std::vector<std::string> devices_to_storage_;
  std::uint64_t file_bytes_;
  std::uint64_t seed_;          ///< of the last run
  std::uint64_t contents_ = 0;  ///< the seed of what the file holds; 0: not made for reading
  bool file_there_ = false;
};

/// Weir against the formulations of a baseline, all in every block, in random order. The baseline is the formulation
/// with the least median: the choice is made with all the data, since a short trial can be wrong, in Weir's favour.
class Comparison {
 public:
  /// Told how much is done, 0 .. 1, on every rank.
  using Progress = std::function<void(double)>;
  /// `seed` decides the order within the pairs and is the same on every rank.
  Comparison(MPI_Comm communicator, Trial& trial, Mover& weir, std::vector<Mover*> formulations, std::uint64_t seed);

  /// At least three pairs, and no more than fit into the budget. Collective.
  Measurement measure(Operation operation, StepKind step, int pairs, double budget_s, const Progress& progress);

 private:
  Trial::Outcome timed(Mover& mover, Measurement& result, Operation operation, StepKind step);
  using Times = std::vector<std::vector<double>>;  ///< of each formulation
  /// Returns the seconds that a block will take less.
  double drop_hopeless(Times& times);

  MPI_Comm communicator_;
  Trial& trial_;
  Mover& weir_;
  std::vector<Mover*> formulations_;                    ///< without those that were dropped as time was short
  std::map<std::string, std::vector<double>> dropped_;  ///< and the times for which they were, also in an earlier step
  std::mt19937_64 random_;
};

const char* name(Operation operation);
const char* name(StepKind step);

}  // namespace weir::bench

#pragma once

#include <array>
#include <functional>
#include <vector>

#include "trial.hpp"
#include "weir_mover.hpp"

namespace weir::bench {

/// A workload through remote memory in three phases, with one meeting and with one in every round, and in two phases
/// without it, all in every block in random order. Contents are checked after every run.
class ThreeWays {
 public:
  /// Collective. `request.settings` has remote.contact.
  ThreeWays(MPI_Comm communicator, const Workload& workload, const Request& request);

  using Progress = std::function<void(double)>;
  /// One measurement an operation; the formulations are the other two ways. Collective.
  std::vector<Measurement> run(const Progress& progress);

 private:
  Measurement measure(Operation operation, const Progress& progress);

  MPI_Comm communicator_;
  const Request& request_;
  Trial trial_;
  std::array<WeirMover, 3> ways_;  ///< asynchronous, synchronous, two-phase
};

}  // namespace weir::bench

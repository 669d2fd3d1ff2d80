#pragma once

#include <functional>
#include <vector>

#include "trial.hpp"
#include "weir_mover.hpp"

namespace weir::bench {

/// A workload through remote memory in three phases, with one meeting and with one in every round, and in two phases
/// without it, all in every block in random order; and for how long a program is kept when its data is absorbed, beside
/// two phases to a durable file. Contents are checked after every run.
class ThreeWays {
 public:
  /// Collective. `request.settings` has remote.contact.
  ThreeWays(MPI_Comm communicator, const Workload& workload, const Request& request);

  using Progress = std::function<void(double)>;
  /// One measurement an operation, and "absorb"; the formulations are the other ways. Collective.
  std::vector<Measurement> run(const Progress& progress);

 private:
  using Ways = std::vector<WeirMover*>;
  /// The first way against the others, the last of which is the baseline.
  Measurement measure(Operation operation, const Ways& ways, const Progress& progress);

  MPI_Comm communicator_;
  const Request& request_;
  Trial trial_;
  WeirMover asynchronous_, synchronous_, two_phase_, absorbed_, durable_;
};

}  // namespace weir::bench

#pragma once

#include <mpi.h>

#include <functional>

namespace weir::bench {

/// Times what all ranks do together.
class Stopwatch {
 public:
  /// Collective.
  explicit Stopwatch(MPI_Comm communicator);

  /// From when the first rank leaves a barrier until the last is through. Collective; the same on every rank.
  [[nodiscard]] double time(const std::function<void()>& work) const;

 private:
  MPI_Comm communicator_;
  bool one_clock_ = false;  ///< all ranks on one node; else a barrier ends the time, as clocks do not agree
};

}  // namespace weir::bench

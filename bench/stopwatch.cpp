#include "stopwatch.hpp"

#include <chrono>
#include <thread>

#include "collective.hpp"

namespace weir::bench {

Stopwatch::Stopwatch(MPI_Comm communicator) : communicator_{communicator}, one_clock_{on_one_node(communicator)} {}

double Stopwatch::time(const std::function<void()>& work) const {
  // Where ranks share cores, the sleep lets those that were kept waiting catch up, so that all leave the barrier soon
  // after one another.
  MPI_Barrier(communicator_);
  std::this_thread::sleep_for(std::chrono::milliseconds{2});
  MPI_Barrier(communicator_);
  const double start = now();
  work();
  if (!one_clock_) MPI_Barrier(communicator_);
  const double end = now();
  double times[2] = {one_clock_ ? -start : 0, one_clock_ ? end : end - start};
  MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, communicator_);
  return times[0] + times[1];
}

}  // namespace weir::bench

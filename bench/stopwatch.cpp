#include "stopwatch.hpp"

#include <chrono>
#include <thread>

#include "collective.hpp"

namespace weir::bench {

Stopwatch::Stopwatch(MPI_Comm communicator) : communicator_{communicator} {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  one_clock_ = greatest(communicator, static_cast<std::uint64_t>(size_of(communicator) - size_of(node))) == 0;
  MPI_Comm_free(&node);
}

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

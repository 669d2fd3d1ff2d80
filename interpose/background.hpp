#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "transfer.hpp"

/// Non-blocking collective accesses: a thread of this process carries out those of a file one after another, in the
/// order in which the program began them, while the program goes on. On one node Weir's ranks meet through shared
/// memory, so that the thread asks MPI only whether it is still there, which any thread may; on several MPI must allow
/// calls in any thread.
namespace weir::interpose {

/// Begins a transfer and makes a request for it. Local.
int begin_in_background(OpenFile& file, std::unique_ptr<Transfer> transfer, MPI_Request* request);
/// Whether there is any request of ours whose end the program has not been told.
bool has_background() noexcept;
/// Completes the requests whose transfers are over.
void complete_background();

/// A request of ours whose access has failed.
struct Failure {
  MPI_Request request;
  int code;
};
/// Those that the calling thread has completed since it last asked.
std::vector<Failure> take_failures() noexcept;

}  // namespace weir::interpose

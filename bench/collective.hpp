#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace weir::bench {

/// Seconds of a clock that all processes of a node share. MPI_Wtime is none: each rank may count from its own start
/// (MPI_WTIME_IS_GLOBAL), in Open MPI milliseconds apart.
double now();

int rank_of(MPI_Comm communicator);
int size_of(MPI_Comm communicator);

/// Rank 0's text on every rank. Collective.
std::string broadcast(MPI_Comm communicator, std::string text);
/// Rank 0's number on every rank. Collective.
double broadcast(MPI_Comm communicator, double value);
/// The text of the lowest rank that has one, on every rank. Collective.
std::string first_of(MPI_Comm communicator, const std::string& text);
std::uint64_t greatest(MPI_Comm communicator, std::uint64_t value);

/// Whether all ranks are on one node. Collective.
bool on_one_node(MPI_Comm communicator);

/// A barrier in which the waiting ranks sleep, so that one that still works has the machine to itself.
void quiet_barrier(MPI_Comm communicator);

}  // namespace weir::bench

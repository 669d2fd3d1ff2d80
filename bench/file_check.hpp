#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace weir::bench {

/// Writes a file with the contents of `seed`, every rank an equal share. Collective; throws when it cannot.
void write_contents(MPI_Comm communicator, const std::string& path, std::uint64_t bytes, std::uint64_t seed);

/// What is wrong with a file that should hold the contents of `seed`, the same on every rank, or nothing. Every byte is
/// read by one rank, whoever wrote it, with several nodes by two that are half of the ranks apart, so that one is not on
/// the node that wrote it; and the size must be exact. Collective.
std::string check_contents(MPI_Comm communicator, const std::string& path, std::uint64_t bytes, std::uint64_t seed);

}  // namespace weir::bench

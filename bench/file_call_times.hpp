#pragma once

#include <mpi.h>

#include <array>
#include <numeric>
#include <vector>

/// How long a program is in calls of MPI-IO. For programs of one source file: it takes the calls over.
namespace file_calls {

enum Kind { open_, view_, move_, close_, kinds };

/// The calls that all ranks make, in their order, and the time in those that ranks make alone.
struct Times {
  std::array<std::vector<double>, kinds> together;
  double alone_s = 0;
};
inline Times times;

/// Seconds in calls of each kind since the last time; of a collective call those of the rank that was in it for the
/// shortest, as the others waited there for ranks that did something else before. Collective; on rank 0.
inline std::array<double, kinds> taken() {
  std::array<double, kinds> seconds{};
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    std::vector<double>& mine = times.together[kind];
    std::vector<double> least(mine.size());
    MPI_Reduce(mine.data(), least.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    seconds[kind] = std::accumulate(least.begin(), least.end(), 0.0);
  }
  double alone_s = 0;
  MPI_Reduce(&times.alone_s, &alone_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  seconds[move_] += alone_s;
  times = {};
  return seconds;
}

template <class Call>
int timed_together(Kind kind, Call&& call) {
  const double start = MPI_Wtime();
  const int code = call();
  times.together[kind].push_back(MPI_Wtime() - start);
  return code;
}
template <class Call>
int timed_alone(Call&& call) {
  const double start = MPI_Wtime();
  const int code = call();
  times.alone_s += MPI_Wtime() - start;
  return code;
}

}  // namespace file_calls

#define TOGETHER(kind, name, parameters, arguments) \
  int MPI_File_##name parameters {                  \
    return file_calls::timed_together(file_calls::kind, [&] { return PMPI_File_##name arguments; }); \
  }
#define ALONE(name, parameters, arguments) \
  int MPI_File_##name parameters {         \
    return file_calls::timed_alone([&] { return PMPI_File_##name arguments; }); \
  }
extern "C" {
TOGETHER(open_, open, (MPI_Comm c, const char* p, int m, MPI_Info i, MPI_File* f), (c, p, m, i, f))
TOGETHER(view_, set_view, (MPI_File f, MPI_Offset o, MPI_Datatype e, MPI_Datatype t, const char* d, MPI_Info i), (f, o, e, t, d, i))
TOGETHER(move_, write_at_all, (MPI_File f, MPI_Offset o, const void* b, int n, MPI_Datatype t, MPI_Status* s), (f, o, b, n, t, s))
TOGETHER(move_, read_at_all, (MPI_File f, MPI_Offset o, void* b, int n, MPI_Datatype t, MPI_Status* s), (f, o, b, n, t, s))
TOGETHER(move_, write_all, (MPI_File f, const void* b, int n, MPI_Datatype t, MPI_Status* s), (f, b, n, t, s))
ALONE(write_at, (MPI_File f, MPI_Offset o, const void* b, int n, MPI_Datatype t, MPI_Status* s), (f, o, b, n, t, s))
ALONE(read_at, (MPI_File f, MPI_Offset o, void* b, int n, MPI_Datatype t, MPI_Status* s), (f, o, b, n, t, s))
TOGETHER(close_, set_size, (MPI_File f, MPI_Offset n), (f, n))
TOGETHER(close_, sync, (MPI_File f), (f))
TOGETHER(close_, close, (MPI_File * f), (f))
}
#undef TOGETHER
#undef ALONE

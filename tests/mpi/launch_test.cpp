#include <gtest/gtest.h>
#include <mpi.h>

TEST(Launch, starts_ranks_that_reach_each_other) {
  int rank = 0, ranks = 0, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(sum, ranks * (ranks - 1) / 2);
}

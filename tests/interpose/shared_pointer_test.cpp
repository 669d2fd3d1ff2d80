#include <gtest/gtest.h>

#include <fstream>

#include "mpi/world.hpp"

/// This program calls functions of the shared file pointer, so the MPI library must know of every view at once: that is
/// why it is a program of its own.
namespace weir::testing {
namespace {

using SharedPointer = World;

TEST_F(SharedPointer, goes_with_the_view) {
  const std::string path = directory() + "/data";
  const std::size_t bytes = 2 * static_cast<std::size_t>(ranks()) + 4;
  if (rank() == 0) std::ofstream{path} << std::string(bytes, '.');
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File opened = MPI_FILE_NULL;
  ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &opened), MPI_SUCCESS);
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_BYTE, 0, 2, &view);
  MPI_Type_commit(&view);
  EXPECT_EQ(MPI_File_set_view(opened, 0, MPI_BYTE, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), "x", 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == ranks() - 1) {
    EXPECT_EQ(MPI_File_write_shared(opened, "yz", 2, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  std::string expected(bytes, '.'), found;
  for (int i = 0; i < ranks(); ++i) expected[static_cast<std::size_t>(2 * i)] = 'x';
  expected[0] = 'y';
  expected[2] = 'z';
  std::getline(std::ifstream{path}, found);
  EXPECT_EQ(found, expected);
  MPI_Type_free(&view);
}

TEST_F(SharedPointer, takes_the_ranks_in_their_order) {
  const std::string path = directory() + "/ordered";
  MPI_File opened = MPI_FILE_NULL;
  ASSERT_EQ(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &opened),
            MPI_SUCCESS);
  const std::string mine(static_cast<std::size_t>(rank()) + 1, static_cast<char>('a' + rank()));
  EXPECT_EQ(MPI_File_write_ordered(opened, mine.data(), rank() + 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  std::string back(mine.size(), ' '), expected;
  EXPECT_EQ(
      MPI_File_read_at_all(opened, rank() * (rank() + 1) / 2, back.data(), rank() + 1, MPI_BYTE, MPI_STATUS_IGNORE),
      MPI_SUCCESS);
  EXPECT_EQ(back, mine);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

}  // namespace
}  // namespace weir::testing

#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <weir/weir.hpp>

namespace weir::testing {

/// All ranks, and a directory that they share and that is gone afterwards.
class World : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    char name[4096] = {};
    if (rank_ == 0) {
      std::snprintf(name, sizeof name, "%s/weir_test_XXXXXX", std::filesystem::temp_directory_path().c_str());
      ASSERT_NE(mkdtemp(name), nullptr);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    directory_ = name;
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove_all(directory_);
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  /// Whether it is so on any rank.
  [[nodiscard]] static bool any_rank(bool here) {
    int mine = here ? 1 : 0, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all != 0;
  }

 private:
  int rank_ = 0, ranks_ = 1;
  std::string directory_;
};

}  // namespace weir::testing

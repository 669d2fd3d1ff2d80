#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "mpi/world.hpp"

/// Names with a colon, which MPI libraries read in different ways: as the file system's name and the file's, or as one.
namespace weir::testing {
namespace {

class Names : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(directory());
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    World::TearDown();
  }

  struct After {
    bool opened;
    std::map<std::string, std::string> files;
    bool operator==(const After&) const = default;
  };

  /// What is there when a program has written a file of that name, and read it again, where files of these names were.
  After write(const std::string& directory, const std::string& name, int mode, const std::vector<std::string>& there) {
    if (rank() == 0) {
      std::filesystem::create_directory(directory);
      for (const std::string& old : there) std::ofstream{directory + "/" + old} << "old contents";
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const std::filesystem::path outside = std::filesystem::current_path();
    std::filesystem::current_path(directory);
    MPI_File file = MPI_FILE_NULL;
    After after{MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, {}};
    if (after.opened) {
      const char mine = static_cast<char>('a' + rank());
      char back = 0;
      EXPECT_EQ(MPI_File_write_at_all(file, rank(), &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_File_write_at(file, ranks() + rank(), &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_File_read_at_all(file, ranks() + rank(), &back, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(back, mine);
      EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (const auto& entry : std::filesystem::directory_iterator{"."}) {
      std::ifstream in{entry.path()};
      after.files[entry.path().filename()] = {std::istreambuf_iterator<char>{in}, {}};
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::filesystem::current_path(outside);
    return after;
  }

 private:
  std::filesystem::path before_;
};

TEST_F(Names, with_a_colon_stand_for_what_the_MPI_library_takes_them_for) {
  constexpr int create = MPI_MODE_CREATE | MPI_MODE_RDWR;
  int number = 0;
  for (const char* name : {"out_12:00", "ufs:out", "out_12:00:30"})
    for (const int mode : {create, create | MPI_MODE_EXCL, int{MPI_MODE_RDWR}})
      for (const auto& there : std::vector<std::vector<std::string>>{
               {}, {"00", "out", "00:30"}, {"out_12:00", "ufs:out", "out_12:00:30"},
               {"00", "out", "00:30", "out_12:00", "ufs:out", "out_12:00:30"}}) {
        const std::string at = std::to_string(number++);
        EXPECT_EQ(write("taken_" + at, name, mode, there), write("plain_" + at, name, mode, there))
            << name << " mode " << mode << " beside " << there.size();
      }
}

}  // namespace
}  // namespace weir::testing

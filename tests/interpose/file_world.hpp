#pragma once

#include <filesystem>
#include <fstream>

#include "mpi/world.hpp"

namespace weir::testing {

/// Files that a program opens through MPI, in a directory of all ranks.
class FileWorld : public World {
 protected:
  [[nodiscard]] std::string file(const char* name) const { return directory() + "/" + name; }
  MPI_File open(const char* name, int mode = MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_Info info = MPI_INFO_NULL,
                MPI_Comm communicator = MPI_COMM_WORLD) {
    MPI_File opened = MPI_FILE_NULL;
    EXPECT_EQ(MPI_File_open(communicator, file(name).c_str(), mode, info, &opened), MPI_SUCCESS);
    return opened;
  }
  [[nodiscard]] std::string contents(const char* name) const {
    MPI_Barrier(MPI_COMM_WORLD);
    std::ifstream in{file(name), std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  static std::string hint(MPI_File opened, const char* name) {
    MPI_Info info = MPI_INFO_NULL;
    char text[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_File_get_info(opened, &info);
    MPI_Info_get(info, name, MPI_MAX_INFO_VAL, text, &found);
    MPI_Info_free(&info);
    return text;
  }
};

}  // namespace weir::testing

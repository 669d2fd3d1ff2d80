#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string_view>
#include <vector>

#include "mpi/world.hpp"

/// Files of programs that become sets of sub-files, because the settings file says so about their names.
namespace weir::testing {
namespace {

constexpr int per_rank = 5;

class SubFiles : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    mine_.resize(per_rank);
    std::iota(mine_.begin(), mine_.end(), 100 * rank());
  }
  [[nodiscard]] std::string path(const char* name = "set_a") const { return directory() + "/" + name; }
  MPI_File open(int mode, const char* name = "set_a", MPI_Comm communicator = MPI_COMM_WORLD) {
    MPI_File opened = MPI_FILE_NULL;
    EXPECT_EQ(MPI_File_open(communicator, path(name).c_str(), mode, MPI_INFO_NULL, &opened), MPI_SUCCESS);
    return opened;
  }
  /// Every rank has each `ranks`-th int, from its own number on.
  static void interleave(MPI_File opened, int rank, int ranks) {
    MPI_Datatype view = MPI_DATATYPE_NULL;
    constexpr auto size = static_cast<MPI_Offset>(sizeof(int));
    MPI_Type_create_resized(MPI_INT, 0, size * ranks, &view);
    MPI_Type_commit(&view);
    EXPECT_EQ(MPI_File_set_view(opened, size * rank, MPI_INT, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_Type_free(&view);
  }
  /// What the whole file holds then.
  [[nodiscard]] std::vector<int> whole() const {
    std::vector<int> all;
    for (int i = 0; i < per_rank; ++i)
      for (int r = 0; r < ranks(); ++r) all.push_back(100 * r + i);
    return all;
  }
  void write_set(int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY) {
    MPI_File opened = open(mode);
    interleave(opened, rank(), ranks());
    EXPECT_EQ(MPI_File_write_all(opened, mine_.data(), 2, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_write_all(opened, mine_.data() + 2, per_rank - 2, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_sync(opened), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  }
  /// How many files there are whose names begin so.
  [[nodiscard]] int files(std::string_view beginning = "set_a") const {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto entries = std::filesystem::directory_iterator{directory()};
    const auto count = std::count_if(begin(entries), end(entries), [&](const auto& entry) {
      return entry.path().filename().string().starts_with(beginning);
    });
    MPI_Barrier(MPI_COMM_WORLD);
    return static_cast<int>(count);
  }
  static int kind(int code) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    return kind;
  }
  static int ints_in(const MPI_Status& status) {
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    return count;
  }

  std::vector<int> mine_;
};

TEST_F(SubFiles, what_was_written_together_is_read_by_any_ranks_in_any_way) {
  write_set();
  EXPECT_EQ(files(), 1 + ranks());  // an index, and a sub-file for each rank
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  int half_rank = 0, half_ranks = 0;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_size(half, &half_ranks);
  MPI_File opened = open(MPI_MODE_RDONLY, "set_a", half);
  const std::vector<int> all = whole();
  const int count = static_cast<int>(all.size());
  MPI_Offset bytes = 0;
  EXPECT_EQ(MPI_File_get_size(opened, &bytes), MPI_SUCCESS);
  EXPECT_EQ(bytes, static_cast<MPI_Offset>(all.size() * sizeof(int)));
  // Together, other pieces than were written, up to the end and beyond it.
  interleave(opened, half_rank, half_ranks);
  std::vector<int> expected;
  for (int i = half_rank; i < count; i += half_ranks) expected.push_back(all[static_cast<std::size_t>(i)]);
  std::vector<int> back(expected.size() + 3, -1);
  MPI_Status status;
  EXPECT_EQ(MPI_File_read_all(opened, back.data(), static_cast<int>(back.size()), MPI_INT, &status), MPI_SUCCESS);
  EXPECT_EQ(ints_in(status), static_cast<int>(expected.size()));
  back.resize(expected.size());
  EXPECT_EQ(back, expected);
  // Non-blocking, one rank after the other.
  std::ranges::fill(back, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  if (half_rank > 0) MPI_Recv(nullptr, 0, MPI_INT, half_rank - 1, 0, half, MPI_STATUS_IGNORE);
  EXPECT_EQ(MPI_File_iread_at_all(opened, 0, back.data(), static_cast<int>(back.size()), MPI_INT, &request),
            MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  if (half_rank + 1 < half_ranks) MPI_Send(nullptr, 0, MPI_INT, half_rank + 1, 0, half);
  EXPECT_EQ(back, expected);
  // Alone.
  MPI_Barrier(half);
  int one = -1;
  EXPECT_EQ(MPI_File_seek(opened, 1, MPI_SEEK_SET), MPI_SUCCESS);
  if (half_rank == half_ranks - 1) {
    EXPECT_EQ(MPI_File_read(opened, &one, 1, MPI_INT, &status), MPI_SUCCESS);
    EXPECT_EQ(one, expected[1]);
    EXPECT_EQ(MPI_File_iread(opened, &one, 1, MPI_INT, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(one, expected[2]);
  }
  EXPECT_EQ(MPI_File_set_view(opened, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_read_at(opened, count - 1, &one, 1, MPI_INT, &status), MPI_SUCCESS);
  EXPECT_EQ(one, all.back());
  EXPECT_EQ(MPI_File_read_at(opened, count, &one, 1, MPI_INT, &status), MPI_SUCCESS);
  EXPECT_EQ(ints_in(status), 0);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Comm_free(&half);
}

TEST_F(SubFiles, what_a_set_cannot_do_is_an_error_on_all_ranks) {
  MPI_File opened = open(MPI_MODE_CREATE | MPI_MODE_RDWR);
  const auto refused = [](int code) { EXPECT_EQ(kind(code), MPI_ERR_UNSUPPORTED_OPERATION); };
  MPI_Offset size = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_File_set_size(opened, 0), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 0);
  EXPECT_EQ(MPI_File_set_atomicity(opened, 0), MPI_SUCCESS);
  refused(MPI_File_set_atomicity(opened, 1));
  refused(MPI_File_set_view(opened, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  refused(MPI_File_preallocate(opened, 100));
  refused(MPI_File_set_size(opened, 100));
  interleave(opened, rank(), ranks());
  refused(MPI_File_write(opened, mine_.data(), 1, MPI_INT, MPI_STATUS_IGNORE));
  refused(MPI_File_iwrite(opened, mine_.data(), 1, MPI_INT, &request));
  refused(MPI_File_read(opened, mine_.data(), 1, MPI_INT, MPI_STATUS_IGNORE));
  refused(MPI_File_write_ordered(opened, mine_.data(), 1, MPI_INT, MPI_STATUS_IGNORE));
  EXPECT_EQ(MPI_File_iwrite_at_all(opened, 0, mine_.data(), 1, MPI_INT, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all(opened, 2, mine_.data() + 2, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  refused(MPI_File_get_size(opened, &size));
  // What is read first makes it complete.
  std::array<int, 3> back{};
  EXPECT_EQ(MPI_File_read_at_all(opened, 2, back.data(), 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back[0], mine_[2]);
  EXPECT_EQ(MPI_File_read_at(opened, 0, back.data(), 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back[0], mine_[0]);
  refused(MPI_File_write_at_all(opened, 1, mine_.data(), 1, MPI_INT, MPI_STATUS_IGNORE));
  // Nobody wrote the second ints: that is no hole of zeros.
  EXPECT_EQ(kind(MPI_File_read_at_all(opened, 0, back.data(), 3, MPI_INT, MPI_STATUS_IGNORE)), MPI_ERR_IO);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(SubFiles, a_set_is_written_anew_when_its_size_was_set_to_0) {
  write_set();
  MPI_File opened = open(MPI_MODE_CREATE | MPI_MODE_RDWR);
  int one = -1;
  EXPECT_EQ(MPI_File_read_at(opened, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(one, 0);
  EXPECT_EQ(kind(MPI_File_write_at_all(opened, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE)), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(MPI_File_set_size(opened, 0), MPI_SUCCESS);
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(MPI_File_set_view(opened, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const int other = 7 + rank();
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &other, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_read_at_all(opened, rank(), &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(one, other);
  EXPECT_EQ(MPI_File_read_at(opened, ranks() - 1, &one, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(one, 7 + ranks() - 1);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(files(), 1 + ranks());
  if (rank() == 0) {
    EXPECT_EQ(MPI_File_delete(path().c_str(), MPI_INFO_NULL), MPI_SUCCESS);
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(SubFiles, a_file_that_has_data_stays_one) {
  if (rank() == 0) std::ofstream{path("set_b")} << "data";
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File opened = open(MPI_MODE_CREATE | MPI_MODE_RDWR, "set_b");
  const char mine = static_cast<char>('a' + rank());
  EXPECT_EQ(MPI_File_write_at_all(opened, 4 + rank(), &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(files("set_b"), 1);
  std::string content;
  std::ifstream{path("set_b")} >> content;
  EXPECT_EQ(content, "data" + std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks())));
}

}  // namespace
}  // namespace weir::testing

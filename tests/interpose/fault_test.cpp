#include <fstream>

#include "fault/mount_world.hpp"

/// What programs are told when storage fails under a collective access: the same class on every rank, in bounded time.
namespace weir::testing {
namespace {

constexpr std::uint64_t mib = 1 << 20;

int handled = 0;  // errors that the program's own handler was given
void handle(MPI_File*, int*, ...) { ++handled; }

class FaultsThroughMpi : public MountWorld {
 protected:
  void SetUp() override {
    MountWorld::SetUp();
    MPI_File_create_errhandler(handle, &handler_);
  }
  void TearDown() override {
    MPI_Errhandler_free(&handler_);
    MountWorld::TearDown();
  }

  /// From now on, files that are opened have this fault and a plan of small rounds.
  void inject(const std::string& fault, const char* mode = "aggregate") {
    const std::string settings = file("weir.toml");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0)
      std::ofstream{settings} << "[[file]]\nname = \"*.dat\"\nplan.mode = \"" << mode
                              << "\"\nplan.buffer_size = \"4KiB\"\nplan.aggregators = 2\nstorage.fault = \"" << fault
                              << "\"\n";
    MPI_Barrier(MPI_COMM_WORLD);
    setenv("WEIR_CONFIG", settings.c_str(), 1);
  }

  MPI_File open(const std::string& name, int mode = MPI_MODE_CREATE | MPI_MODE_RDWR) {
    MPI_File opened = MPI_FILE_NULL;
    EXPECT_EQ(MPI_File_open(MPI_COMM_WORLD, file(name).c_str(), mode, MPI_INFO_NULL, &opened), MPI_SUCCESS);
    MPI_File_set_errhandler(opened, handler_);
    handled = 0;
    return opened;
  }

  /// The class of an error code, if all ranks have the same; else -1.
  static int common_class(int code) {
    int mine = MPI_SUCCESS, least = 0, most = 0;
    MPI_Error_class(code, &mine);
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return least == most ? mine : -1;
  }

  /// Every rank's 16 KiB in pieces of 1 KiB, in turn.
  static constexpr int pieces = 16, piece = 1024;
  void set_interleaved_view(MPI_File opened) const {
    MPI_Datatype part = MPI_DATATYPE_NULL, view = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(piece, MPI_BYTE, &part);
    MPI_Type_create_resized(part, 0, static_cast<MPI_Aint>(piece) * ranks(), &view);
    MPI_Type_commit(&view);
    EXPECT_EQ(
        MPI_File_set_view(opened, static_cast<MPI_Offset>(piece) * rank(), MPI_BYTE, view, "native", MPI_INFO_NULL),
        MPI_SUCCESS);
    MPI_Type_free(&part);
    MPI_Type_free(&view);
  }
  [[nodiscard]] std::vector<char> data(char seed) const {
    return std::vector<char>(pieces * piece, static_cast<char>(seed + rank()));
  }

  struct Expected {
    const char* error;
    int kind;
  };

 private:
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

TEST_F(FaultsThroughMpi, a_disk_that_fills_has_the_same_class_on_every_rank) {
  if (!mount_small("size=10m")) GTEST_SKIP() << why_skipped;
  Watchdog::watch("full disk");
  MPI_File opened = open("mount/data");
  const std::vector<char> large(16 * mib / static_cast<std::uint64_t>(ranks()), 'x');
  MPI_Status status;
  const int code = MPI_File_write_at_all(opened, static_cast<MPI_Offset>(large.size()) * rank(), large.data(),
                                         static_cast<int>(large.size()), MPI_BYTE, &status);
  EXPECT_EQ(common_class(code), MPI_ERR_NO_SPACE);
  EXPECT_EQ(handled, 1);
  // When there is room again, it goes on.
  EXPECT_EQ(MPI_File_set_size(opened, 0), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all(opened, 1000 * rank(), large.data(), 1000, MPI_BYTE, &status), MPI_SUCCESS);
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT_EQ(count, 1000);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(FaultsThroughMpi, a_disk_that_fills_in_small_pieces_has_the_same_class_on_every_rank) {
  if (!mount_small("size=2m")) GTEST_SKIP() << why_skipped;
  Watchdog::watch("full disk, small pieces");
  MPI_File opened = open("mount/data");
  constexpr int bytes = 50'000;
  const std::vector<char> mine(bytes, static_cast<char>('a' + rank()));
  MPI_Status status;
  int code = MPI_SUCCESS, count = 0, written = 0;
  for (; code == MPI_SUCCESS && written < 100; ++written) {
    code = MPI_File_write_at_all(opened, static_cast<MPI_Offset>(bytes) * (written * ranks() + rank()), mine.data(), bytes,
                                 MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, code == MPI_SUCCESS ? bytes : 0);
  }
  EXPECT_EQ(common_class(code), MPI_ERR_NO_SPACE);
  EXPECT_EQ(handled, 1);
  EXPECT_GE((written + 1) * ranks() * bytes, static_cast<int>(2 * mib) - ranks() * bytes);
  std::vector<char> back(bytes);  // what was said to be written is there
  for (int i = 0; i + 1 < written; ++i) {
    EXPECT_EQ(MPI_File_read_at_all(opened, static_cast<MPI_Offset>(bytes) * (i * ranks() + rank()), back.data(), bytes,
                                   MPI_BYTE, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    EXPECT_EQ(back, mine);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(FaultsThroughMpi, an_error_of_any_rank_in_any_round_is_told_by_all) {
  const Expected expected[] = {{"EIO", MPI_ERR_IO},
                               {"ENOSPC", MPI_ERR_NO_SPACE},
                               {"EDQUOT", MPI_ERR_QUOTA},
                               {"EROFS", MPI_ERR_READ_ONLY},
                               {"EACCES", MPI_ERR_ACCESS}};
  for (const char* mode : {"aggregate", "direct"})
    for (const Expected& fault : expected)
      for (const int who : {0, ranks() - 1}) {
        bool fired = true;
        for (int n = 0; fired; n += 3) {
          const std::string what = fmt::format("op=write error={} after={} times=1 rank={}", fault.error, n, who);
          SCOPED_TRACE(std::string{mode} + " " + what);
          Watchdog::watch(what);
          inject(what, mode);
          MPI_File opened = open("written.dat");
          set_interleaved_view(opened);
          const auto before = data('a');
          const int code = MPI_File_write_at_all(opened, 0, before.data(), pieces * piece, MPI_BYTE, MPI_STATUS_IGNORE);
          const int kind = common_class(code);
          fired = kind != MPI_SUCCESS;
          EXPECT_TRUE(!fired || kind == fault.kind) << kind;
          EXPECT_EQ(handled, fired ? 1 : 0);
          if (fired) {
            EXPECT_EQ(MPI_File_write_at_all(opened, 0, before.data(), pieces * piece, MPI_BYTE, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
          }
          auto after = data('0');
          EXPECT_EQ(MPI_File_read_at_all(opened, 0, after.data(), pieces * piece, MPI_BYTE, MPI_STATUS_IGNORE),
                    MPI_SUCCESS);
          EXPECT_EQ(after, before);
          EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
          ASSERT_FALSE(failed_anywhere());
          ASSERT_LT(n, 300) << "a fault fired at each of them";
        }
      }
}

TEST_F(FaultsThroughMpi, an_error_of_reading_is_told_by_all) {
  Watchdog::watch("read");
  inject("");
  MPI_File opened = open("read.dat");
  set_interleaved_view(opened);
  auto bytes = data('a');
  EXPECT_EQ(MPI_File_write_all(opened, bytes.data(), pieces * piece, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  inject("op=read error=EIO after=1 times=1 rank=0");
  opened = open("read.dat", MPI_MODE_RDONLY);
  set_interleaved_view(opened);
  const int code = MPI_File_read_all(opened, bytes.data(), pieces * piece, MPI_BYTE, MPI_STATUS_IGNORE);
  EXPECT_EQ(common_class(code), MPI_ERR_IO);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(FaultsThroughMpi, an_error_in_a_non_blocking_access_is_told_by_all_when_it_is_completed) {
  for (const int who : {0, ranks() - 1})
    for (const char* mode : {"aggregate", "direct"}) {
      const std::string fault = fmt::format("op=write error=ENOSPC times=1 rank={}", who);
      SCOPED_TRACE(std::string{mode} + " " + fault);
      Watchdog::watch(fault);
      inject(fault, mode);
      MPI_File opened = open("beside.dat");
      set_interleaved_view(opened);
      const auto bytes = data('a');
      MPI_Request request = MPI_REQUEST_NULL;
      const auto write = [&] {
        EXPECT_EQ(MPI_File_iwrite_at_all(opened, 0, bytes.data(), pieces * piece, MPI_BYTE, &request), MPI_SUCCESS);
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
      };
      const int kind = common_class(write());
      const bool may_store_nothing = who > 0 && std::string_view{mode} == "aggregate";
      EXPECT_TRUE(kind == MPI_ERR_NO_SPACE || (kind == MPI_SUCCESS && may_store_nothing)) << kind;
      EXPECT_EQ(handled, kind == MPI_SUCCESS ? 0 : 1);
      EXPECT_EQ(write(), MPI_SUCCESS);
      EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
      ASSERT_FALSE(failed_anywhere());
    }
}

TEST_F(FaultsThroughMpi, short_writes_and_interruptions_are_not_seen) {
  for (const char* fault : {"op=write short=100", "op=write error=EINTR after=1 times=5"}) {
    Watchdog::watch(fault);
    inject(fault);
    MPI_File opened = open("short.dat");
    set_interleaved_view(opened);
    const auto before = data('a');
    auto after = data('0');
    EXPECT_EQ(MPI_File_write_at_all(opened, 0, before.data(), pieces * piece, MPI_BYTE, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_File_read_at_all(opened, 0, after.data(), pieces * piece, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(after, before);
    EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  }
}

TEST_F(FaultsThroughMpi, wrong_arguments_of_one_rank_are_an_error_on_all) {
  Watchdog::watch("arguments");
  inject("");
  MPI_File opened = open("arguments.dat");
  const auto bytes = data('a');
  const int wrong = ranks() - 1;
  const int count = rank() == wrong ? -1 : 10;
  EXPECT_NE(MPI_File_write_at_all(opened, 10 * rank(), bytes.data(), count, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  const MPI_Datatype type = rank() == wrong ? MPI_DATATYPE_NULL : MPI_BYTE;
  EXPECT_NE(MPI_File_write_all(opened, bytes.data(), 10, type, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all(opened, 10 * rank(), bytes.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(FaultsThroughMpi, settings_that_cannot_be_used_leave_a_file_to_the_mpi_library) {
  Watchdog::watch("settings");
  inject("op=nonsense");
  MPI_File opened = open("settings.dat");
  const auto bytes = data('a');
  EXPECT_EQ(MPI_File_write_at_all(opened, 10 * rank(), bytes.data(), 10, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(std::filesystem::file_size(file("settings.dat")), static_cast<std::uint64_t>(10 * ranks()));
}

}  // namespace
}  // namespace weir::testing

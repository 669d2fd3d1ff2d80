#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "mpi/world.hpp"

/// What programs may count on besides the bytes, each a case of its own.
namespace weir::testing {
namespace {

class Semantics : public World {
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

TEST_F(Semantics, types_beyond_2_GiB_can_be_views) {
  // A byte for each rank, then 4 GiB that are not touched.
  MPI_Datatype gib = MPI_DATATYPE_NULL, view = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1 << 30, MPI_BYTE, &gib);
  const std::array<int, 2> lengths{1, 4};
  const std::array<MPI_Aint, 2> places{rank(), 4096};
  const std::array<MPI_Datatype, 2> types{MPI_BYTE, gib};
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &view);
  MPI_Type_commit(&view);
  MPI_File opened = open("large");
  ASSERT_EQ(MPI_File_set_view(opened, 0, MPI_BYTE, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const char mine = static_cast<char>('a' + rank());
  EXPECT_EQ(MPI_File_write_at_all(opened, 0, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("large"), std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks())));
  MPI_Type_free(&view);
  MPI_Type_free(&gib);
}

TEST_F(Semantics, atomic_mode_can_be_switched_on_and_off) {
  MPI_File opened = open("atomic");
  EXPECT_EQ(MPI_File_set_atomicity(opened, 1), MPI_SUCCESS);
  const int value = 7 + rank();
  EXPECT_EQ(MPI_File_write_at_all(opened, 4 * rank(), &value, 4, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_set_atomicity(opened, 0), MPI_SUCCESS);
  int back = 0;
  EXPECT_EQ(MPI_File_read_at_all(opened, 4 * rank(), &back, 4, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, value);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, an_access_alone_sees_what_all_have_written_through_the_same_view) {
  MPI_File opened = open("mixed");
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(sizeof(int)) * ranks(), &view);
  MPI_Type_commit(&view);
  const auto at = static_cast<MPI_Offset>(sizeof(int)) * rank();
  ASSERT_EQ(MPI_File_set_view(opened, at, MPI_INT, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const std::array<int, 3> mine{rank(), rank() + 100, rank() + 200};
  EXPECT_EQ(MPI_File_write_all(opened, mine.data(), 3, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  std::array<int, 3> back{};
  EXPECT_EQ(MPI_File_read_at(opened, 0, back.data(), 3, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, mine);
  const int more = 300 + rank();
  EXPECT_EQ(MPI_File_write(opened, &more, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Offset position = 0, byte = 0, displacement = 0;
  MPI_File_get_position(opened, &position);
  EXPECT_EQ(position, 4);
  MPI_File_get_byte_offset(opened, 4, &byte);
  EXPECT_EQ(byte, at + 4 * static_cast<MPI_Offset>(sizeof(int)) * ranks());
  MPI_Datatype element = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  char representation[MPI_MAX_DATAREP_STRING] = {};
  MPI_Aint low = 0, extent = 0;
  MPI_File_get_view(opened, &displacement, &element, &type, representation);
  MPI_Type_get_extent(type, &low, &extent);
  EXPECT_EQ(displacement, at);
  EXPECT_EQ(extent, static_cast<MPI_Aint>(sizeof(int)) * ranks());
  EXPECT_STREQ(representation, "native");
  MPI_Type_free(&type);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(MPI_File_seek(opened, -1, MPI_SEEK_CUR), MPI_SUCCESS);
  int last = 0;
  EXPECT_EQ(MPI_File_read_all(opened, &last, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(last, more);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Type_free(&view);
}

TEST_F(Semantics, a_plan_is_used_again_where_the_pieces_really_are) {
  // Both views are without holes, but the second begins 4 bytes behind its displacement.
  MPI_File opened = open("again");
  MPI_Datatype moved = MPI_DATATYPE_NULL, view = MPI_DATATYPE_NULL;
  const MPI_Aint place = 4;
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &moved);
  MPI_Type_create_resized(moved, 0, sizeof(int), &view);
  MPI_Type_commit(&view);
  const int first = rank(), second = 100 + rank();
  MPI_File_set_view(opened, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &first, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  const MPI_Offset behind = static_cast<MPI_Offset>(sizeof(int)) * (ranks() - 1);
  MPI_File_set_view(opened, behind, MPI_INT, view, "native", MPI_INFO_NULL);
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &second, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  std::string expected;
  for (int i = 0; i < 2 * ranks(); ++i) {
    const int value = i < ranks() ? i : 100 + i - ranks();
    expected.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  EXPECT_EQ(contents("again"), expected);
  MPI_Type_free(&view);
  MPI_Type_free(&moved);
}

TEST_F(Semantics, memory_may_be_given_by_addresses) {
  std::array<int, 2> first{rank(), 100 + rank()};
  double second = 0.5 * rank();
  std::array<MPI_Aint, 2> places{};
  MPI_Get_address(first.data(), &places[0]);
  MPI_Get_address(&second, &places[1]);
  const std::array<int, 2> lengths{2, 1};
  const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_DOUBLE};
  MPI_Datatype both = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &both);
  MPI_Type_commit(&both);
  MPI_File opened = open("addresses");
  EXPECT_EQ(MPI_File_write_at_all(opened, 16 * rank(), MPI_BOTTOM, 1, both, MPI_STATUS_IGNORE), MPI_SUCCESS);
  first = {};
  second = 0;
  EXPECT_EQ(MPI_File_read_at_all(opened, 16 * rank(), MPI_BOTTOM, 1, both, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(first, (std::array<int, 2>{rank(), 100 + rank()}));
  EXPECT_EQ(second, 0.5 * rank());
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Type_free(&both);
}

TEST_F(Semantics, appended_data_goes_behind_what_is_there) {
  if (rank() == 0) std::ofstream{file("log")} << "old ";
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File opened = open("log", MPI_MODE_WRONLY | MPI_MODE_APPEND);
  EXPECT_EQ(MPI_File_write_all(opened, "new", rank() == 0 ? 3 : 0, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("log"), "old new");
}

TEST_F(Semantics, several_files_of_several_communicators_are_open_at_once) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, 0, &half);
  MPI_File all = open("all"), again = open("again"),
           part = open(rank() % 2 == 0 ? "even" : "odd", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, half);
  int place = 0;
  MPI_Comm_rank(half, &place);
  const char mine = static_cast<char>('a' + rank());
  EXPECT_EQ(MPI_File_write_at_all(part, place, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all_begin(all, rank(), &mine, 1, MPI_BYTE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all(again, ranks() - 1 - rank(), &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_write_at_all_end(all, &mine, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (MPI_File* opened : {&part, &again, &all}) EXPECT_EQ(MPI_File_close(opened), MPI_SUCCESS);
  std::string letters = std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks()));
  EXPECT_EQ(contents("all"), letters);
  EXPECT_EQ(contents("again"), std::string(letters.rbegin(), letters.rend()));
  std::string even;
  for (std::size_t i = 0; i < letters.size(); i += 2) even += letters[i];
  EXPECT_EQ(contents("even"), even);
  MPI_Comm_free(&half);
}

TEST_F(Semantics, one_rank_may_wait_for_another_between_start_and_end_of_a_non_blocking_access) {
  MPI_File opened = open("later");
  const char mine = static_cast<char>('a' + rank());
  MPI_Request request = MPI_REQUEST_NULL;
  int token = 0, done = 0;
  if (rank() > 0) MPI_Recv(&token, 1, MPI_INT, rank() - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_EQ(MPI_File_iwrite_at_all(opened, rank(), &mine, 1, MPI_BYTE, &request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);  // waits for nobody
  if (rank() + 1 < ranks()) MPI_Send(&token, 1, MPI_INT, rank() + 1, 0, MPI_COMM_WORLD);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("later"), std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks())));
}

TEST_F(Semantics, a_non_blocking_access_has_the_view_with_which_it_began) {
  MPI_File opened = open("views");
  for (int turn = 0; turn < 20; ++turn) {
    const std::array<char, 2> mine{static_cast<char>('a' + rank()), static_cast<char>('A' + rank())};
    std::array<MPI_Request, 2> requests{};
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(MPI_File_set_view(opened, (2 * turn + i) * ranks(), MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL),
                MPI_SUCCESS);
      EXPECT_EQ(MPI_File_iwrite_at_all(opened, rank(), &mine[static_cast<std::size_t>(i)], 1, MPI_BYTE,
                                       &requests[static_cast<std::size_t>(i)]),
                MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  std::string expected;
  for (int turn = 0; turn < 20; ++turn)
    for (const char* letters : {"abcdefg", "ABCDEFG"}) expected.append(letters, static_cast<std::size_t>(ranks()));
  EXPECT_EQ(contents("views"), expected);
}

TEST_F(Semantics, a_non_blocking_access_goes_on_while_the_program_calls_nothing) {
  MPI_File opened = open("beside");
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_BYTE, 0, ranks(), &view);
  MPI_Type_commit(&view);
  MPI_File_set_view(opened, rank(), MPI_BYTE, view, "native", MPI_INFO_NULL);
  const std::string mine(1000, static_cast<char>('a' + rank()));
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_File_iwrite_all(opened, mine.data(), 1000, MPI_BYTE, &request), MPI_SUCCESS);
  std::string expected, found;
  for (int i = 0; i < 1000; ++i) expected += std::string{"abcdefg"}.substr(0, static_cast<std::size_t>(ranks()));
  for (int tries = 0; found != expected && tries < 2000; ++tries) {
    std::ifstream in{file("beside"), std::ios::binary};
    found.assign(std::istreambuf_iterator<char>{in}, {});
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  EXPECT_TRUE(found == expected) << found.size() << " bytes of " << expected.size();
  MPI_Status status;
  int count = 0;
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT_EQ(count, 1000);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Type_free(&view);
}

/// Completes all requests, each by another of MPI's calls.
void complete_by_any_call(int how, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
  const int n = static_cast<int>(requests.size());
  int done = 0, index = 0, some = 0;
  std::vector<int> indices(requests.size());
  std::vector<MPI_Status> part(requests.size());
  const auto by_some = [&](auto&& call) {
    for (int rest = n; rest > 0; rest -= some) {
      ASSERT_EQ(call(n, requests.data(), &some, indices.data(), part.data()), MPI_SUCCESS);
      ASSERT_NE(some, MPI_UNDEFINED);
      for (int i = 0; i < some; ++i)
        statuses[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])] = part[static_cast<std::size_t>(i)];
    }
  };
  MPI_Status status;
  switch (how) {
    case 0:
      for (int i = n; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(MPI_Wait(&requests[at], &statuses[at]), MPI_SUCCESS);
      }
      break;
    case 1: ASSERT_EQ(MPI_Waitall(n, requests.data(), statuses.data()), MPI_SUCCESS); break;
    case 2:
      for (int i = 0; i < n; ++i) {
        ASSERT_EQ(MPI_Waitany(n, requests.data(), &index, &status), MPI_SUCCESS);
        statuses[static_cast<std::size_t>(index)] = status;
      }
      break;
    case 3: by_some(MPI_Waitsome); break;
    case 4:
      for (std::size_t i = 0; i < requests.size(); ++i)
        for (done = 0; !done;) ASSERT_EQ(MPI_Test(&requests[i], &done, &statuses[i]), MPI_SUCCESS);
      break;
    case 5:
      while (!done) ASSERT_EQ(MPI_Testall(n, requests.data(), &done, statuses.data()), MPI_SUCCESS);
      break;
    case 6:
      for (int i = 0; i < n; i += done) {
        ASSERT_EQ(MPI_Testany(n, requests.data(), &index, &done, &status), MPI_SUCCESS);
        if (done) statuses[static_cast<std::size_t>(index)] = status;
      }
      break;
    case 7: by_some(MPI_Testsome); break;
    default:
      for (std::size_t i = 0; i < requests.size(); ++i) {
        for (done = 0; !done;) ASSERT_EQ(MPI_Request_get_status(requests[i], &done, &statuses[i]), MPI_SUCCESS);
        ASSERT_EQ(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
  }
}

TEST_F(Semantics, non_blocking_accesses_are_completed_by_any_call_and_among_other_requests) {
  MPI_File opened = open("any");
  const int next = (rank() + 1) % ranks(), last = (rank() + ranks() - 1) % ranks();
  for (int how = 0; how <= 8; ++how) {
    SCOPED_TRACE(how);
    // Large enough for a message that needs both sides.
    std::vector<int> sent(100'000, rank()), received(sent.size(), -1), written(100, 10 * how + rank()), back(300, -1);
    std::vector<MPI_Request> requests(4);
    std::vector<MPI_Status> statuses(4);
    const MPI_Offset at = 400 * rank();
    MPI_Irecv(received.data(), 100'000, MPI_INT, last, 0, MPI_COMM_WORLD, &requests[0]);
    EXPECT_EQ(MPI_File_iwrite_at_all(opened, at, written.data(), 100, MPI_INT, &requests[1]), MPI_SUCCESS);
    MPI_Isend(sent.data(), 100'000, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[2]);
    EXPECT_EQ(MPI_File_iread_at_all(opened, at, back.data(), rank() == ranks() - 1 ? 300 : 100, MPI_INT, &requests[3]),
              MPI_SUCCESS);
    complete_by_any_call(how, requests, statuses);
    for (const MPI_Request request : requests) EXPECT_EQ(request, MPI_REQUEST_NULL);
    for (const std::size_t i : {0, 1, 3}) {
      int count = 0;
      MPI_Get_count(&statuses[i], MPI_INT, &count);
      EXPECT_EQ(count, i == 0 ? 100'000 : 100);  // the last rank's read ends with the file
    }
    EXPECT_EQ(received, std::vector<int>(received.size(), last));
    EXPECT_EQ(std::vector<int>(back.begin(), back.begin() + 100), written);
    EXPECT_EQ(back[100], -1);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, what_fails_in_a_non_blocking_access_is_told_when_it_is_completed) {
  MPI_File opened = open("fails");
  int value = 7, kind = MPI_SUCCESS;
  const int count = rank() == ranks() - 1 ? -1 : 1;
  std::array<MPI_Request, 2> requests{};
  std::array<MPI_Status, 2> statuses{};
  EXPECT_EQ(MPI_File_iwrite_at_all(opened, 4 * rank(), &value, 1, MPI_INT, &requests[0]), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_iwrite_at_all(opened, 4 * rank(), &value, count, MPI_INT, &requests[1]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(2, requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
  EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
  EXPECT_NE(statuses[1].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(MPI_File_iwrite_at_all(opened, 4 * rank(), &value, count, MPI_INT, &requests[0]), MPI_SUCCESS);
  for (int i = 0, none = 0; i < 20; ++i) {  // most likely it is over before anybody asks for it
    MPI_Request other = MPI_REQUEST_NULL;
    MPI_Test(&other, &none, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  MPI_Error_class(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), &kind);
  EXPECT_EQ(kind, count < 0 ? MPI_ERR_COUNT : MPI_ERR_ARG);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, a_file_may_have_any_number_of_patterns_of_any_size) {
  MPI_File opened = open("patterns");
  for (int bytes = 1; bytes < 3'000'000; bytes += bytes / 4 + 1) {
    // Each rank has two pieces, so that there is something to aggregate, and no two sizes have the same plan.
    std::vector<char> mine(static_cast<std::size_t>(bytes), static_cast<char>('a' + rank())), back(mine.size());
    MPI_Datatype view = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, (bytes + 1) / 2, (bytes + 1) / 2 * ranks(), MPI_BYTE, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(opened, static_cast<MPI_Offset>((bytes + 1) / 2) * rank(), MPI_BYTE, view, "native",
                      MPI_INFO_NULL);
    ASSERT_EQ(MPI_File_write_at_all(opened, 0, mine.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS) << bytes;
    ASSERT_EQ(MPI_File_read_at_all(opened, 0, back.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS) << bytes;
    ASSERT_EQ(back, mine) << bytes;
    MPI_Type_free(&view);
  }
  EXPECT_EQ(hint(opened, "weir"), "collective");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, hints_are_honoured_and_told) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "cb_buffer_size", "8192");
  MPI_File opened = open("hints", MPI_MODE_CREATE | MPI_MODE_RDWR, info);
  EXPECT_EQ(hint(opened, "weir"), "collective");
  EXPECT_EQ(hint(opened, "cb_nodes"), "1");
  EXPECT_EQ(hint(opened, "cb_buffer_size"), "8192");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Info_set(info, "romio_cb_write", "disable");
  opened = open("hints", MPI_MODE_CREATE | MPI_MODE_RDWR, info);
  EXPECT_EQ(hint(opened, "weir"), "hint romio_cb_write is disable");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Info_free(&info);
}

/// The MPI library opens none of these files before something is passed through.
TEST_F(Semantics, hints_that_are_given_late_reach_the_MPI_library_and_Weir) {
  const auto hints = [](const char* name, const char* value) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, name, value);
    return info;
  };
  MPI_Info sieve_no_reads = hints("romio_ds_read", "disable"), sieve_no_writes = hints("romio_ds_write", "disable");
  MPI_Info own = hints("access_style", "write_once"), one_aggregator = hints("cb_nodes", "1");
  MPI_Info alone = hints("romio_cb_write", "disable");
  // Before the MPI library has opened the file.
  MPI_File opened = open("later");
  EXPECT_EQ(MPI_File_set_view(opened, 0, MPI_BYTE, MPI_BYTE, "native", sieve_no_reads), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_set_info(opened, own), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_read"), "disable");
  EXPECT_EQ(hint(opened, "romio_ds_write"), "");
  EXPECT_EQ(hint(opened, "access_style"), "write_once");
  // When it has: then all hints are those that the library tells.
  EXPECT_EQ(MPI_File_preallocate(opened, 4 * ranks()), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_read"), "disable");
  EXPECT_EQ(MPI_File_set_info(opened, sieve_no_writes), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_write"), "disable");
  MPI_Info_set(sieve_no_reads, "romio_ds_read", "enable");
  EXPECT_EQ(MPI_File_set_view(opened, 0, MPI_INT, MPI_INT, "native", rank() == 0 ? MPI_INFO_NULL : sieve_no_reads),
            MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "romio_ds_read"), rank() == 0 ? "disable" : "enable");
  // Weir's own.
  const auto write = [&](int value) {
    EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    int back = 0;
    EXPECT_EQ(MPI_File_read_at_all(opened, rank(), &back, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(back, value);
  };
  write(1);
  EXPECT_EQ(MPI_File_set_info(opened, one_aggregator), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "cb_nodes"), "1");
  EXPECT_EQ(hint(opened, "weir"), "collective");
  write(2);
  EXPECT_EQ(MPI_File_set_info(opened, alone), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "weir"), "hint romio_cb_write is disable");
  write(3);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  for (MPI_Info* info : {&sieve_no_reads, &sieve_no_writes, &own, &one_aggregator, &alone}) MPI_Info_free(info);
}

TEST_F(Semantics, what_a_file_is_can_be_asked_before_anything_is_passed_through) {
  MPI_File opened = open("asked");
  int mode = 0, same = MPI_UNEQUAL, atomic = 1;
  EXPECT_EQ(MPI_File_get_amode(opened, &mode), MPI_SUCCESS);
  EXPECT_EQ(mode, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  EXPECT_EQ(MPI_File_get_group(opened, &group), MPI_SUCCESS);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &same);
  EXPECT_EQ(same, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  EXPECT_EQ(MPI_File_get_atomicity(opened, &atomic), MPI_SUCCESS);
  EXPECT_EQ(atomic, 0);
  MPI_Aint extent = 0;
  EXPECT_EQ(MPI_File_get_type_extent(opened, MPI_DOUBLE, &extent), MPI_SUCCESS);
  EXPECT_EQ(extent, static_cast<MPI_Aint>(sizeof(double)));
  MPI_Offset size = -1;
  EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 0);
  EXPECT_EQ(MPI_File_set_size(opened, 1000), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 1000);
  EXPECT_EQ(MPI_File_seek(opened, -1, MPI_SEEK_END), MPI_SUCCESS);
  MPI_Offset position = 0;
  EXPECT_EQ(MPI_File_get_position(opened, &position), MPI_SUCCESS);
  EXPECT_EQ(position, 999);
  EXPECT_EQ(MPI_File_sync(opened), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_preallocate(opened, 5000), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_size(opened, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 5000);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "access_style", "write_once");
  EXPECT_EQ(MPI_File_set_info(opened, info), MPI_SUCCESS);
  EXPECT_EQ(hint(opened, "access_style"), "write_once");
  MPI_Info_free(&info);
  EXPECT_EQ(MPI_File_c2f(MPI_File_f2c(MPI_File_c2f(opened))), MPI_File_c2f(opened));
  EXPECT_EQ(MPI_File_f2c(MPI_File_c2f(opened)), opened);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(opened, MPI_FILE_NULL);
}

MPI_File handled_for = MPI_FILE_NULL;
void note(MPI_File* file, int*, ...) { handled_for = *file; }

TEST_F(Semantics, errors_go_to_the_handler_of_the_file_with_its_handle) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_File_create_errhandler(note, &handler);
  MPI_File opened = open("handled"), other = open("other");
  EXPECT_EQ(MPI_File_set_errhandler(opened, handler), MPI_SUCCESS);
  MPI_Errhandler_free(&handler);
  char byte = 0;
  const auto fails_with_handler = [&](int code, const char* what) {
    EXPECT_NE(code, MPI_SUCCESS) << what;
    EXPECT_EQ(handled_for, opened) << what;
    handled_for = MPI_FILE_NULL;
  };
  fails_with_handler(MPI_File_write_at_all(opened, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), "together");
  fails_with_handler(MPI_File_write_at(opened, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), "alone");
  fails_with_handler(MPI_File_set_size(opened, -1), "the size");
  fails_with_handler(MPI_File_set_view(opened, -1, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "the view");
  fails_with_handler(MPI_File_set_view(opened, 0, MPI_BYTE, MPI_BYTE, "no such", MPI_INFO_NULL), "the representation");
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  // The next file has the handler that all files begin with.
  MPI_File next = open("next");
  EXPECT_NE(MPI_File_write_at_all(next, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(handled_for, MPI_FILE_NULL);
  EXPECT_EQ(MPI_File_close(&next), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&other), MPI_SUCCESS);
}

TEST_F(Semantics, modes_of_opening_are_kept) {
  const auto kind_of = [&](const char* name, int mode, MPI_File* opened) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(MPI_File_open(MPI_COMM_WORLD, file(name).c_str(), mode, MPI_INFO_NULL, opened), &kind);
    return kind;
  };
  MPI_File opened = MPI_FILE_NULL;
  EXPECT_EQ(kind_of("made", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, &opened), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(kind_of("made", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, &opened), MPI_ERR_FILE_EXISTS);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDONLY | MPI_MODE_CREATE, &opened), MPI_ERR_AMODE);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDONLY | MPI_MODE_RDWR, &opened), MPI_ERR_AMODE);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDONLY, &opened), MPI_SUCCESS);
  char byte = 0;
  EXPECT_NE(MPI_File_write_at_all(opened, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_NE(MPI_File_write_at(opened, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_NE(MPI_File_set_size(opened, 10), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(kind_of("made", MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, &opened), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(std::filesystem::exists(file("made")));
}

TEST_F(Semantics, a_file_that_was_removed_can_be_used_until_it_is_closed) {
  MPI_File opened = open("removed");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) std::filesystem::remove(file("removed"));
  MPI_Barrier(MPI_COMM_WORLD);
  const char mine = static_cast<char>('a' + rank());
  char back = 0;
  EXPECT_EQ(MPI_File_write_at_all(opened, rank(), &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_read_at(opened, rank(), &back, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, mine);
  EXPECT_EQ(MPI_File_set_atomicity(opened, 1), MPI_SUCCESS);  // now the MPI library moves the data
  EXPECT_EQ(MPI_File_read_at_all(opened, ranks() - 1, &back, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(back, static_cast<char>('a' + ranks() - 1));
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
}

TEST_F(Semantics, some_ranks_have_one_piece_and_others_many_or_none) {
  // Rank 0 has every other byte of the first 20, the last rank none, the others one piece behind them.
  const bool many = rank() == 0, none = rank() > 0 && rank() == ranks() - 1;
  MPI_Datatype view = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_BYTE, 0, many ? 2 : 1, &view);
  MPI_Type_commit(&view);
  std::string expected(static_cast<std::size_t>(10 * (ranks() + 1)), '.');
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (i < 20 ? i % 2 == 0 : i < 10 * static_cast<std::size_t>(ranks())) expected[i] = 'x';
  if (rank() == 0) std::ofstream{file("shares")} << std::string(expected.size(), '.');
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File opened = open("shares");
  const MPI_Offset at = many ? 0 : 10 * (rank() + 1);
  ASSERT_EQ(MPI_File_set_view(opened, at, MPI_BYTE, view, "native", MPI_INFO_NULL), MPI_SUCCESS);
  const std::string mine(10, 'x');
  for (int time = 0; time < 3; ++time) {  // what was found out the first time is used later
    EXPECT_EQ(MPI_File_write_at_all(opened, 0, mine.data(), none ? 0 : 10, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::string back(10, ' ');
    MPI_Status status;
    int count = 0;
    EXPECT_EQ(MPI_File_read_at_all(opened, 0, back.data(), none ? 0 : 10, MPI_BYTE, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, none ? 0 : 10);
    EXPECT_EQ(back, none ? std::string(10, ' ') : mine);
    // In between all have one piece, one of them beyond the end of the file.
    MPI_File_set_view(opened, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    const auto end = static_cast<MPI_Offset>(expected.size());
    EXPECT_EQ(MPI_File_read_at_all(opened, none ? end - 3 : 0, back.data(), 10, MPI_BYTE, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT_EQ(count, none ? 3 : 10);
    MPI_File_set_view(opened, at, MPI_BYTE, view, "native", MPI_INFO_NULL);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  EXPECT_EQ(contents("shares"), expected);
  MPI_Type_free(&view);
}

TEST_F(Semantics, a_file_that_cannot_be_opened_is_told_by_all) {
  MPI_File opened = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, file("none/such").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &opened);
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  EXPECT_EQ(kind, MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(opened, MPI_FILE_NULL);
}

}  // namespace
}  // namespace weir::testing

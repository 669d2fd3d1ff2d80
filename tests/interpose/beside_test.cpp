#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "file_world.hpp"

/// Non-blocking accesses, which are carried out beside the program, and messages of the program that are under way.
namespace weir::testing {
namespace {

class Beside : public FileWorld {};

TEST_F(Beside, one_rank_may_wait_for_another_between_start_and_end_of_a_non_blocking_access) {
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

TEST_F(Beside, a_message_arrives_though_its_sender_waits_in_a_collective_access) {
  MPI_File opened = open("message");
  const std::string mine(100, static_cast<char>('a' + rank()));
  std::vector<char> message(20'000);
  const auto length = static_cast<int>(message.size());
  for (int turn = 0; turn < 200; ++turn) {
    if (rank() + 1 < ranks()) MPI_Send(message.data(), length, MPI_BYTE, rank() + 1, 0, MPI_COMM_WORLD);
    if (rank() > 0) MPI_Recv(message.data(), length, MPI_BYTE, rank() - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(MPI_File_write_at_all(opened, 100 * rank(), mine.data(), 100, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_File_close(&opened), MPI_SUCCESS);
  std::string expected;
  for (int i = 0; i < ranks(); ++i) expected.append(100, static_cast<char>('a' + i));
  EXPECT_EQ(contents("message"), expected);
}

TEST_F(Beside, a_non_blocking_access_has_the_view_with_which_it_began) {
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

TEST_F(Beside, a_non_blocking_access_goes_on_while_the_program_calls_nothing) {
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

TEST_F(Beside, non_blocking_accesses_are_completed_by_any_call_and_among_other_requests) {
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

TEST_F(Beside, what_fails_in_a_non_blocking_access_is_told_when_it_is_completed) {
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

}  // namespace
}  // namespace weir::testing

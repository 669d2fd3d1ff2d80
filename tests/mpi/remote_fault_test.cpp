#include <fstream>
#include <functional>

#include "mpi/remote_steps.hpp"

namespace weir::testing {
namespace {

class RemoteFault : public Remote {
 protected:
  /// Steps while something is done to their server, some time after they have begun: all of them are whole, and soon.
  void harm_during_steps(const Settings& how, int after_us, const std::function<void()>& harm) {
    start_server();
    {
      Context weir{MPI_COMM_WORLD, settings(how)};
      // UCX 1.13 can end a process whose server is killed while the two connect.
      if (how.at("remote.transport") == "ucx") expect_whole(weir, 9, true);
      std::thread harming;
      if (rank() == 0)
        harming = std::thread{[&] {
          std::this_thread::sleep_for(std::chrono::microseconds{after_us});
          harm();
        }};
      const double start = MPI_Wtime();
      bool remote = false;
      Bytes found;
      for (int pass = 0; pass < 4; ++pass) {
        EXPECT_EQ(write(weir, pass, remote).message(), "");
        EXPECT_EQ(read(weir, found, remote).message(), "");
        EXPECT_EQ(found, data(pass));
      }
      EXPECT_LT(MPI_Wtime() - start, 30);
      if (harming.joinable()) harming.join();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    end_server(SIGKILL);
    if (rank() == 0) std::filesystem::remove(contact_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
};

TEST_F(RemoteFault, steps_are_finished_without_a_server_that_was_killed) {
  start_server();
  Context weir{MPI_COMM_WORLD, settings()};
  expect_whole(weir, 1, true);
  end_server(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  expect_whole(weir, 2, false);
}

TEST_F(RemoteFault, the_next_steps_go_through_a_server_that_was_started_again) {
  for (const char* transport : {"mapped", "ucx", "socket"}) {
    start_server();
    Context weir{MPI_COMM_WORLD, settings({{"remote.transport", transport}})};
    File kept = weir.create(directory() + "/kept").value();  // across the loss
    Step before = kept.declare(chunks()).value();
    const Bytes bytes = data(5);
    before.write(0, bytes).value();
    ASSERT_EQ(before.finish().message(), "");
    expect_whole(weir, 1, true);
    end_server(SIGKILL);
    if (rank() == 0) std::filesystem::remove(contact_);
    start_server();
    bool remote = false;
    EXPECT_EQ(write(weir, 2, remote).message(), "");  // here the loss is noticed
    EXPECT_FALSE(remote);
    expect_whole(weir, 3, true);
    before.write(0, bytes).value();
    EXPECT_EQ(before.finish().message(), "");
    kept.close().value();
    end_server();
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(RemoteFault, a_server_that_ends_at_any_moment_of_a_step_costs_no_byte) {
  constexpr const char* transports[] = {"ucx", "mapped", "socket"};
  for (int trial = 0; trial < 12; ++trial) {
    SCOPED_TRACE(trial);
    harm_during_steps({{"remote.synchronous", trial % 2 == 0 ? "no" : "yes"},
                       {"remote.transport", transports[trial % 3]}},
                      400 * trial, [&] { end_server(trial % 4 < 2 ? SIGKILL : SIGTERM); });  // which takes its memory back
  }
}

TEST_F(RemoteFault, a_server_that_stops_at_any_moment_of_a_step_costs_no_byte) {
  constexpr const char* transports[] = {"ucx", "mapped", "socket"};
  for (int trial = 0; trial < 5; ++trial) {
    SCOPED_TRACE(trial);
    harm_during_steps({{"remote.timeout", "1"}, {"remote.transport", transports[trial % 3]}}, 700 * trial,
                      [&] { ::kill(-server_, SIGSTOP); });
  }
}

TEST_F(RemoteFault, what_a_dead_server_had_absorbed_is_told_and_the_old_file_stays) {
  start_server();
  Context weir{MPI_COMM_WORLD, settings()};
  bool remote = false;
  ASSERT_EQ(write(weir, 1, remote).message(), "");
  for (const bool dead : {false, true}) {
    File file = weir.create(path()).value();
    Step step = file.declare(chunks()).value();
    const Bytes bytes = data(2);
    step.write(0, bytes).value();
    if (dead) end_server(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    const Status absorbed = step.absorb();
    if (!dead) end_server(SIGKILL);
    expect_same(absorbed.code());
    const Status waited = step.wait();
    expect_same(waited.code());
    const Status closed = file.close();
    EXPECT_EQ(closed.ok(), waited.ok());
    Bytes found;
    ASSERT_EQ(read(weir, found, remote).message(), "");
    EXPECT_EQ(found, data(closed.ok() ? 2 : 1)) << "dead before: " << dead;
    if (dead) {
      EXPECT_TRUE(closed.ok()) << closed.message();  // it went the ordinary way
    }
  }
}

TEST_F(RemoteFault, a_server_that_has_stopped_is_given_up) {
  start_server();
  Context weir{MPI_COMM_WORLD, settings({{"remote.timeout", "1"}})};
  if (server_ > 0) ::kill(-server_, SIGSTOP);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  bool remote = false;
  EXPECT_EQ(write(weir, 3, remote).message(), "");
  EXPECT_LT(MPI_Wtime() - start, 20);
  EXPECT_FALSE(remote);
}

TEST_F(RemoteFault, a_contact_file_without_a_server_is_an_error_on_all_ranks) {
  start_server();
  const std::string kept = directory() + "/kept";
  if (rank() == 0) std::filesystem::copy(contact_, kept);
  MPI_Barrier(MPI_COMM_WORLD);
  end_server();
  MPI_Barrier(MPI_COMM_WORLD);
  auto weir = Context::make(MPI_COMM_WORLD, settings({{"remote.contact", kept}}));
  EXPECT_FALSE(weir.ok());
  expect_same(weir.status().code());
  EXPECT_FALSE(weir.status().message().empty());
}

TEST_F(RemoteFault, without_a_contact_file_the_setting_is_refused) {
  auto weir = Context::make(MPI_COMM_WORLD, {{"memory.tier", "remote"}});
  EXPECT_EQ(weir.status().code(), Code::settings);
}

}  // namespace
}  // namespace weir::testing

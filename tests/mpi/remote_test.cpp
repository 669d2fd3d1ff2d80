#include <algorithm>
#include <fstream>
#include <random>

#include "mpi/remote_steps.hpp"
#include "remote/remote_memory.hpp"

namespace weir::testing {
namespace {

TEST_F(Remote, steps_go_through_the_server_and_back) {
  start_server();
  for (const char* transport : {"mapped", "ucx", "socket"})
    for (const char* synchronous : {"no", "yes"}) {
      SCOPED_TRACE(fmt::format("{}, synchronous {}", transport, synchronous));
      Context weir{MPI_COMM_WORLD, settings({{"remote.transport", transport},
                                             {"remote.synchronous", synchronous},
                                             {"remote.when_lost", "fail"}})};
      for (int pass = 0; pass < 3; ++pass) expect_whole(weir, pass, true);
    }
}

TEST_F(Remote, long_pieces_are_stored_and_loaded_where_they_lie) {
  start_server();
  constexpr std::uint64_t count = 600;
  for (const std::uint64_t length : {std::uint64_t{4099}, std::uint64_t{1000}})
    for (const char* files : {"shared", "node"})
      for (const char* buffer : {"65536", "16777216"}) {  // few in a window, and more than one call takes
        SCOPED_TRACE(fmt::format("pieces of {}, buffers of {}, {}", length, buffer, files));
        const auto all = static_cast<std::uint64_t>(ranks());
        const Declaration pieces{{static_cast<std::uint64_t>(rank()) * length, length, all * length, count}};
        Bytes bytes(count * length);
        for (std::size_t i = 0; i < bytes.size(); ++i)
          bytes[i] = static_cast<unsigned char>(i * 7 + i / length + rank() * 31);
        Context weir{
            MPI_COMM_WORLD,
            settings({{"remote.when_lost", "fail"}, {"plan.buffer_size", buffer}, {"plan.mode", "aggregate"}})};
        // In a file of its own a rank's pieces lie together.
        const bool long_enough = length >= 4096 || ranks() == 1 || files == std::string{"node"};
        const auto expect_in_place = [&](const Step& step, bool expected) {
          int mine = step.explain().find("needed no buffer") != std::string::npos, any = 0;
          MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
          EXPECT_EQ(any == 1, expected) << step.explain();
        };
        {
          File file = weir.create(path(), Settings{{"plan.files", files}}).value();
          Step step = file.declare(pieces).value();
          step.write(0, bytes).value();
          ASSERT_EQ(file.close(step).message(), "");
          expect_in_place(step, long_enough);
        }
        for (const char* tier : {"remote", ""}) {
          Context reader{MPI_COMM_WORLD, settings({{"memory.tier", tier}, {"plan.mode", "aggregate"}})};
          File file = reader.open(path()).value();
          Step step = file.declare(pieces).value();
          Bytes found(bytes.size(), 0xee);
          step.read(0, found).value();
          ASSERT_EQ(file.close(step).message(), "");
          EXPECT_TRUE(found == bytes);
          // What has checksums is verified in buffers.
          expect_in_place(step, long_enough && tier == std::string{"remote"} && files == std::string{"shared"});
        }
      }
}

TEST_F(Remote, long_pieces_go_over_networks_from_and_to_their_places) {
  start_server();
  for (const char* transport : {"ucx", "socket"})
    for (const std::uint64_t length : {std::uint64_t{5003}, std::uint64_t{40'003}}) {
      SCOPED_TRACE(fmt::format("{}, pieces of {}", transport, length));
      constexpr std::uint64_t count = 100;  // of which more than may be under way lie in a window
      const auto all = static_cast<std::uint64_t>(ranks());
      const Declaration pieces{{static_cast<std::uint64_t>(rank()) * length, length, all * length, count}};
      Bytes bytes(count * length), found(bytes.size(), 0xee);
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<unsigned char>(i * 7 + i / length + rank() * 31);
      Context weir{MPI_COMM_WORLD, settings({{"remote.when_lost", "fail"},
                                             {"remote.transport", transport},
                                             {"plan.buffer_size", "4194304"},
                                             {"plan.mode", "aggregate"}})};
      File file = weir.create(path()).value();
      Step step = file.declare(pieces).value();
      step.write(0, bytes).value();
      ASSERT_EQ(file.close(step).message(), "");
      File written = weir.open(path()).value();
      Step reading = written.declare(pieces).value();
      reading.read(0, found).value();
      ASSERT_EQ(written.close(reading).message(), "");
      EXPECT_GT(reading.report().remote_bytes, 0U);
      EXPECT_TRUE(found == bytes);
    }
}

TEST_F(Remote, overlapping_pieces_end_as_in_two_phases) {
  start_server();
  const std::uint64_t at = static_cast<std::uint64_t>(rank()) * 20'000;  // each has half of the next one's
  Bytes bytes(40'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(at / 20'000 + i / 20'000);
  Context weir{MPI_COMM_WORLD, settings({{"remote.when_lost", "fail"}, {"plan.mode", "aggregate"}})};
  File file = weir.create(path()).value();
  Step step = file.declare(Declaration{{at, bytes.size(), 0, 1}}).value();
  step.write(0, bytes).value();
  ASSERT_EQ(file.close(step).message(), "");
  File written = weir.open(path()).value();
  Step reading = written.declare(Declaration{{at, bytes.size(), 0, 1}}).value();
  Bytes found(bytes.size(), 0xee);
  reading.read(0, found).value();
  ASSERT_EQ(written.close(reading).message(), "");
  EXPECT_TRUE(found == bytes);
}

TEST_F(Remote, the_plan_says_so) {
  start_server();
  Context weir{MPI_COMM_WORLD, settings()};
  File file = weir.create(path()).value();
  Step step = file.declare(chunks()).value();
  EXPECT_NE(step.explain().find("three phases"), std::string::npos) << step.explain();
  const Bytes bytes = data(0);
  step.write(0, bytes).value();
  step.finish().value();
  file.close().value();
}

TEST_F(Remote, the_plan_chooses_between_two_phases_and_three_where_servers_are_described) {
  start_server();
  const auto why = [&](const std::string& bank, bool& remote) {
    Settings chosen = settings({{"machine.description", "flat 8 link 1MBps latency 10us bank dram 16GB 20GBps 90ns "
                                                        "bank far remote 1GB " + bank + " storage ext4 1GBps 1ms"},
                                {"machine.ranks_per_node", "1"},
                                {"plan.mode", "aggregate"}});
    chosen.erase("memory.tier");
    Context weir{MPI_COMM_WORLD, chosen};
    File file = weir.create(path()).value();
    Step step = file.declare(chunks()).value();
    const Bytes bytes = data(1);
    step.write(0, bytes).value();
    EXPECT_EQ(file.close(step).message(), "");
    remote = step.report().remote_bytes > 0;
    return step.explain();
  };
  bool remote = false;
  const std::string fast = why("50GBps 1us", remote);
  EXPECT_EQ(remote, ranks() > 1) << fast;  // one rank alone has nothing to gather
  EXPECT_NE(fast.find("in three phases through bank 'far'"), std::string::npos) << fast;
  const std::string slow = why("10kBps 1us", remote);
  EXPECT_FALSE(remote) << slow;
  EXPECT_NE(slow.find("in three phases through bank 'far'"), std::string::npos) << slow;
  const std::string unknown = why("", remote);
  EXPECT_FALSE(remote) << unknown;
  EXPECT_NE(unknown.find("is out (its speed is not known"), std::string::npos) << unknown;
}

TEST_F(Remote, a_loaded_plan_goes_through_the_server_where_there_is_one) {
  start_server();
  const std::string saved = directory() + "/plan";
  {
    Context weir{MPI_COMM_WORLD, settings()};
    File file = weir.create(path()).value();
    Step step = file.declare(chunks()).value();
    ASSERT_EQ(step.plan().save(saved).message(), "");
    const Bytes bytes = data(0);
    step.write(0, bytes).value();
    file.close(step).value();
  }
  for (const bool servers : {true, false}) {
    Settings chosen = settings({{"remote.when_lost", "fail"}});
    if (!servers) chosen = {};
    Context weir{MPI_COMM_WORLD, chosen};
    File file = weir.create(path(), weir.load_plan(saved).value()).value();
    Step step = file.step().value();
    const Bytes bytes = data(7);
    step.write(0, bytes).value();
    ASSERT_EQ(file.close(step).message(), "");
    EXPECT_EQ(step.report().remote_bytes > 0, servers);
    EXPECT_EQ(step.explain().find("this context has no memory servers") == std::string::npos, servers);
    Bytes found;
    bool remote = false;
    ASSERT_EQ(read(weir, found, remote).message(), "");
    EXPECT_EQ(found, data(7));
  }
}

TEST_F(Remote, a_full_server_means_the_ordinary_way_and_the_explanation_says_why) {
  start_server(1 << 16);
  Context weir{MPI_COMM_WORLD, settings()};
  expect_whole(weir, 1, false);
  File file = weir.create(path()).value();
  Step step = file.declare(chunks()).value();
  const Bytes bytes = data(1);
  step.write(0, bytes).value();
  file.close(step).value();
  int told = step.explain().find("did not go through remote memory: weir: cannot allocate") != std::string::npos, any = 0;
  MPI_Allreduce(&told, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_EQ(any, 1);  // on the ranks that had no room
}

TEST_F(Remote, a_full_server_is_an_error_where_that_is_asked_for) {
  start_server(1 << 16);
  Context weir{MPI_COMM_WORLD, settings({{"remote.when_lost", "fail"}})};
  bool remote = false;
  const Status status = write(weir, 1, remote);
  EXPECT_EQ(status.code(), Code::no_memory) << status.message();
  expect_same(status.code());
}

TEST_F(Remote, a_full_server_is_waited_for_where_that_is_asked_for) {
  const std::uint64_t size = static_cast<std::uint64_t>(ranks()) << 19;
  start_server(size);
  RemoteOptions options;
  options.contact = contact_;
  std::unique_ptr<RemoteMemory> others;
  std::unique_ptr<RemoteRegion> region;
  const auto fill = [&] {
    MPI_Barrier(MPI_COMM_WORLD);  // nobody has anything any more
    if (rank() == 0) others = connect_remote_memory(options).value();
    if (rank() == 0) region = others->allocate({{1, 2}, 3, 4}, size).value();
    MPI_Barrier(MPI_COMM_WORLD);
  };
  for (const char* lost : {"two-phase", "fail"}) {  // in vain
    fill();
    Context weir{MPI_COMM_WORLD, settings({{"remote.wait_for_room", "1"}, {"remote.when_lost", lost}})};
    bool remote = true;
    const double start = MPI_Wtime();
    const Status status = write(weir, 1, remote);
    EXPECT_EQ(status.code(), lost == std::string{"fail"} ? Code::no_memory : Code::ok) << status.message();
    expect_same(status.code());
    EXPECT_FALSE(remote);
    EXPECT_GE(MPI_Wtime() - start, 0.9);
    EXPECT_LT(MPI_Wtime() - start, 10);
    region.reset();
  }
  for (const char* direction : {"write", "read"}) {
    fill();
    std::thread leaving;
    if (rank() == 0)
      leaving = std::thread{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{300});
        region.reset();
      }};
    Context weir{MPI_COMM_WORLD, settings({{"remote.wait_for_room", "60"}, {"remote.when_lost", "fail"}})};
    bool remote = false;
    Bytes found;
    const Status status = direction == std::string{"write"} ? write(weir, 2, remote) : read(weir, found, remote);
    EXPECT_EQ(status.message(), "") << direction;
    EXPECT_TRUE(remote) << direction;
    if (leaving.joinable()) leaving.join();
    if (direction == std::string{"read"}) {
      EXPECT_EQ(found, data(2));
    }
  }
  fill();
  region.reset();
  end_server();
  if (rank() == 0) others.reset();
  MPI_Barrier(MPI_COMM_WORLD);
  start_server(1 << 16);  // where it never fits
  Context weir{MPI_COMM_WORLD, settings({{"remote.wait_for_room", "60"}})};
  const double start = MPI_Wtime();
  expect_whole(weir, 3, false);
  EXPECT_LT(MPI_Wtime() - start, 20);
}

TEST_F(Remote, what_is_absorbed_is_stored_while_the_program_goes_on) {
  start_server();
  Context weir{MPI_COMM_WORLD, settings({{"remote.when_lost", "fail"}})};
  const char* const files[] = {"shared", "node", "shared", "rank", "node"};
  for (int pass = 0; pass < 5; ++pass) {
    SCOPED_TRACE(pass);
    File file = weir.create(path(), Settings{{"plan.files", files[pass]}}).value();
    Step step = file.declare(chunks()).value();
    Bytes bytes = data(pass);
    step.write(0, bytes).value();
    ASSERT_EQ(step.absorb().message(), "");
    std::ranges::fill(bytes, 0xdd);  // the variable is the program's again
    EXPECT_EQ(file.declare(chunks()).status().code(), Code::invalid);
    if (pass == 0) {  // another file meanwhile
      File other = weir.create(directory() + "/other").value();
      Step more = other.declare(chunks()).value();
      const Bytes others = data(50);
      more.write(0, others).value();
      ASSERT_EQ(other.close(more).message(), "");
    }
    if (pass != 1) {
      ASSERT_EQ(step.wait().message(), "");
    }
    ASSERT_EQ(file.close().message(), "");
    bool remote = false;
    Bytes found;
    ASSERT_EQ(read(weir, found, remote).message(), "");
    EXPECT_EQ(found, data(pass));
  }
}

}  // namespace
}  // namespace weir::testing

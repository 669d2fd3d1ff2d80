#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "mpi/world.hpp"
#include "remote/ucx_lender.hpp"

namespace weir::testing {
namespace {

using Bytes = std::vector<unsigned char>;
constexpr std::size_t rank_bytes = 500'000, chunk = 5000;
constexpr double most_s = 12;

/// A memory server behind a slow link that is cut: no connection is ever closed, so only deadlines help.
class CutOff : public World, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    World::SetUp();
    if (!std::getenv("TEST_LINK")) GTEST_SKIP() << "needs root and a network of its own";
    if (GetParam() == std::string_view{"ucx"} && !UcxLender::is_built_in()) GTEST_SKIP() << "built without UCX";
  }
  void TearDown() override {
    if (std::getenv("TEST_LINK")) set_link("up");
    World::TearDown();
  }

  void set_link(const char* state) const {
    if (rank() == 0) {
      EXPECT_EQ(std::system(fmt::format("{} {}", std::getenv("TEST_LINK"), state).c_str()), 0);
      // What was asked of the other end while it was cut off would be given up only after a second.
      EXPECT_EQ(std::system("ip neigh flush dev weir0"), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  /// Cuts the link so many seconds later; below 0 never.
  [[nodiscard]] std::thread cut_after(double seconds) const {
    if (rank() != 0 || seconds < 0) return {};
    return std::thread{[seconds] {
      std::this_thread::sleep_for(std::chrono::duration<double>{seconds});
      EXPECT_EQ(std::system(fmt::format("{} down", std::getenv("TEST_LINK")).c_str()), 0);
    }};
  }
  [[nodiscard]] static Context connect() {
    return Context{MPI_COMM_WORLD,
                   {{"memory.tier", "remote"},
                    {"remote.timeout", "1"},
                    {"remote.transport", GetParam()},
                    {"plan.aggregators", "2"},
                    {"plan.buffer_size", "65536"}}};
  }
  [[nodiscard]] Declaration chunks() const {
    return Declaration{{static_cast<std::uint64_t>(rank()) * chunk, chunk, static_cast<std::uint64_t>(ranks()) * chunk,
                        rank_bytes / chunk}};
  }
  [[nodiscard]] Bytes data(int salt) const {
    Bytes bytes(rank_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>(i * 7 + i / chunk + rank() * 31 + salt);
    return bytes;
  }
  [[nodiscard]] std::string path() const { return directory() + "/data"; }

  Status write(Context& weir, int salt, bool& remote) {
    File file = weir.create(path()).value();
    Step step = file.declare(chunks()).value();
    const Bytes bytes = data(salt);
    step.write(0, bytes).value();
    const Status status = file.close(step);
    remote = step.report().remote_bytes > 0;
    return status;
  }
  Bytes read(Context& weir, bool& remote) {
    File file = weir.open(path()).value();
    Step step = file.declare(chunks()).value();
    Bytes bytes(rank_bytes, 0xee);
    step.read(0, bytes).value();
    EXPECT_EQ(file.close(step).message(), "");
    remote = step.report().remote_bytes > 0;
    return bytes;
  }
  void expect_stored(int salt) {
    Context plain{MPI_COMM_WORLD, {{"remote.contact", ""}}};
    bool remote = false;
    EXPECT_TRUE(read(plain, remote) == data(salt));
  }
  void expect_same(Code code) const {
    int mine = static_cast<int>(code), least = 0, most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(least, most);
  }
};

INSTANTIATE_TEST_SUITE_P(By, CutOff, ::testing::Values("socket", "ucx"),
                         [](const auto& info) { return std::string{info.param}; });

TEST_P(CutOff, while_a_step_is_written_costs_no_byte_and_the_next_goes_through_the_server_again) {
  int salt = 0;
  for (const double moment : {-1.0, 0.0, 0.05, 0.2}) {
    SCOPED_TRACE(moment);
    Context weir = connect();
    std::thread cutter = cut_after(moment);
    if (moment == 0 && cutter.joinable()) cutter.join();
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    bool remote = false;
    EXPECT_EQ(write(weir, ++salt, remote).message(), "");
    EXPECT_LT(MPI_Wtime() - start, most_s);
    if (moment <= 0) {
      EXPECT_EQ(remote, moment < 0);
    }
    if (cutter.joinable()) cutter.join();
    set_link("up");
    expect_stored(salt);
    if (moment != 0) continue;
    EXPECT_EQ(write(weir, ++salt, remote).message(), "");
    EXPECT_TRUE(remote);
    expect_stored(salt);
  }
}

TEST_P(CutOff, while_a_step_is_read_costs_no_byte) {
  bool remote = false;
  Context plain{MPI_COMM_WORLD, {{"remote.contact", ""}}};
  ASSERT_EQ(write(plain, 1, remote).message(), "");
  for (const double moment : {0.05, 0.2}) {
    SCOPED_TRACE(moment);
    Context weir = connect();
    std::thread cutter = cut_after(moment);
    const double start = MPI_Wtime();
    EXPECT_TRUE(read(weir, remote) == data(1));
    EXPECT_LT(MPI_Wtime() - start, most_s);
    if (cutter.joinable()) cutter.join();
    set_link("up");
  }
}

TEST_P(CutOff, after_a_step_was_absorbed_is_told_on_all_ranks_and_the_old_file_stays) {
  Context weir = connect();
  bool remote = false;
  ASSERT_EQ(write(weir, 1, remote).message(), "");
  File file = weir.create(path()).value();
  Step step = file.declare(chunks()).value();
  const Bytes bytes = data(2);
  step.write(0, bytes).value();
  ASSERT_EQ(step.absorb().message(), "");
  set_link("down");
  const double start = MPI_Wtime();
  const Status waited = step.wait();
  EXPECT_LT(MPI_Wtime() - start, most_s);
  EXPECT_EQ(waited.code(), Code::io) << waited.message();
  expect_same(waited.code());
  EXPECT_FALSE(file.close().ok());
  set_link("up");
  expect_stored(1);
}

}  // namespace
}  // namespace weir::testing

#include <fstream>

#include "fault/mount_world.hpp"
#include "limit.hpp"

// Real faults of file systems and limits. Mounts need root and a mount namespace of their own: private_mounts.sh.
namespace weir::testing {
namespace {

constexpr std::uint64_t mib = 1 << 20;

class RealFaults : public MountWorld {
 protected:
  void remount(unsigned long flags) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) {
      ASSERT_EQ(mount("weir-test", file("mount").c_str(), nullptr, MS_REMOUNT | flags, nullptr), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{file("mount")})
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string write_through(const Settings& settings);
  static void expect_said(const std::string& explanation, const std::string& words);
};

Settings settings_of(const char* mode, const char* per_node = "0") {
  return {{"plan.mode", mode}, {"plan.buffer_size", "64KiB"}, {"machine.ranks_per_node", per_node}};
}

TEST_F(RealFaults, a_disk_that_fills_is_told_by_all_ranks_and_the_old_file_stays) {
  if (!mount_small("size=10m")) GTEST_SKIP() << why_skipped;
  for (const char* per_node : {"0", "2"})
    for (const char* mode : {"direct", "aggregate"}) {
      SCOPED_TRACE(fmt::format("{}, {} ranks a node", mode, per_node));
      Watchdog::watch(fmt::format("full disk, {}, {} ranks a node", mode, per_node));
      const std::string path = file("mount/data");
      const Bytes before = pattern_file(1, mib);
      Context weir{MPI_COMM_WORLD, settings_of(mode, per_node)};
      const auto quarter = static_cast<std::uint64_t>(4 * ranks());
      const Part small = Part::blocks(rank(), ranks(), 4 * mib / quarter, 4);
      const Part part = Part::blocks(rank(), ranks(), 16 * mib / quarter, 4);
      expect_works(weir, path, small, {}, 3);
      const std::size_t descriptors = open_descriptors();
      prepare(path, before);
      {
        auto opened = weir.create(path);
        auto step = opened->declare(part.declaration());
        ASSERT_EQ(same(step), Code::ok) << step.status().message();
        const auto data = part.all_data(2);
        EXPECT_EQ(give(*step, data).message(), "");
        const Status status = step->finish();
        expect_code(status, Code::no_space, "free space");
        EXPECT_NE(status.message().find("mount/data"), std::string::npos);
        EXPECT_LE(status.bytes(), 9 * mib);
        EXPECT_GT(status.bytes(), 0u);
        EXPECT_NE(same(opened->close()), Code::ok);
      }
      expect_contents(path, before);
      if (rank() == 0) {
        EXPECT_EQ(names(), std::vector<std::string>{"data"});
      }
      // With less to write, there is room.
      expect_works(weir, path, small, {}, 3);
      EXPECT_EQ(open_descriptors(), descriptors);
      ASSERT_FALSE(failed_anywhere());
    }
}

TEST_F(RealFaults, a_file_system_without_inodes_is_told_by_all_ranks) {
  if (!mount_small("size=10m,nr_inodes=4")) GTEST_SKIP() << why_skipped;
  Watchdog::watch("no inodes");
  Context weir{MPI_COMM_WORLD};
  if (rank() == 0)
    for (int i = 0; i < 8; ++i) put(file("mount/") + std::to_string(i), {});
  MPI_Barrier(MPI_COMM_WORLD);
  auto opened = weir.create(file("mount/data"));
  expect_code(opened, Code::too_many_files, "inodes");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) std::filesystem::remove(file("mount/0"));
  expect_works(weir, file("mount/data"), Part::blocks(rank(), ranks()), {}, 3);
}

TEST_F(RealFaults, a_read_only_file_system_is_told_by_all_ranks_and_can_be_read) {
  if (!mount_small("size=10m")) GTEST_SKIP() << why_skipped;
  Watchdog::watch("read-only");
  Context weir{MPI_COMM_WORLD};
  const Part part = Part::blocks(rank(), ranks());
  expect_works(weir, file("mount/data"), part, {}, 3);
  remount(MS_RDONLY);
  expect_code(weir.create(file("mount/data")), Code::read_only, "mounted for writing");
  expect_code(weir.create(file("mount/new")), Code::read_only);
  expect_code(weir.update(file("mount/data")), Code::read_only);
  auto opened = weir.open(file("mount/data"));
  ASSERT_EQ(same(opened), Code::ok) << opened.status().message();
  auto step = opened->declare(part.declaration());
  std::vector<Bytes> data;
  for (const Bytes& expected : part.all_data(3)) data.emplace_back(expected.size());
  EXPECT_EQ(take(*step, data).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  EXPECT_TRUE(data == part.all_data(3));
  EXPECT_EQ(opened->close().message(), "");
  remount(0);
  expect_works(weir, file("mount/data"), part, {}, 4);
}

TEST_F(RealFaults, a_limit_on_the_size_of_files_is_told_by_all_ranks) {
  for (const char* per_node : {"0", "2"})
    for (const char* mode : {"direct", "aggregate"})
      for (const bool everywhere : {true, false}) {
        SCOPED_TRACE(fmt::format("{}, {} ranks a node, everywhere {}", mode, per_node, everywhere));
        Watchdog::watch("RLIMIT_FSIZE");
        const std::string path = file("data");
        const Bytes before = pattern_file(1, 777);
        prepare(path, before);
        const Part part = Part::blocks(rank(), ranks(), (1 << 20) / static_cast<std::uint64_t>(ranks()), 2);
        Context weir{MPI_COMM_WORLD, settings_of(mode, per_node)};
        // Announcements and buffers are shared memory, which this limit counts too: they come first.
        expect_works(weir, file("first"), part, {}, 2);
        {
          // What the last rank writes ends behind the limit.
          const bool here = everywhere || rank() == ranks() - 1;
          const Limit limit{RLIMIT_FSIZE, here ? part.file_size - 5 : RLIM_INFINITY};
          auto opened = weir.create(path);
          auto step = opened->declare(part.declaration());
          ASSERT_EQ(same(step), Code::ok) << step.status().message();
          const auto data = part.all_data(2);
          EXPECT_EQ(give(*step, data).message(), "");
          const Status status = step->finish();
          const bool reached = same(status) != Code::ok;
          EXPECT_TRUE(reached || (!everywhere && mode == std::string{"aggregate"}));
          if (reached) {
            expect_code(status, Code::too_large, "ulimit -f");
            EXPECT_LE(status.bytes(), part.file_size - 5);
          }
          EXPECT_EQ(same(opened->close()) == Code::ok, !reached);
          expect_contents(path, reached ? before : pattern_file(2, part.file_size));
        }
        expect_works(weir, path, part, {}, 3);
        expect_no_temporaries();
        ASSERT_FALSE(failed_anywhere());
      }
}

TEST_F(RealFaults, a_limit_on_open_files_is_told_by_all_ranks_and_leaks_none) {
  for (const char* per_node : {"0", "2"})
    for (int short_rank = -1; short_rank < ranks(); ++short_rank) {
      SCOPED_TRACE(fmt::format("rank {}, {} ranks a node", short_rank, per_node));
      Watchdog::watch(fmt::format("RLIMIT_NOFILE on rank {}", short_rank));
      Context weir{MPI_COMM_WORLD, settings_of("direct", per_node)};
      const Part part = Part::blocks(rank(), ranks());
      expect_works(weir, file("data"), part, {}, 2);
      const std::size_t descriptors = open_descriptors();
      {
        // No number below the limit is free, and what is open stays open.
        const Limit limit{RLIMIT_NOFILE, short_rank == -1 || short_rank == rank() ? 3u : 1024u};
        auto opened = weir.create(file("data"));
        if (short_rank <= 0) expect_code(opened, Code::too_many_files, "ulimit -n");
        else EXPECT_EQ(same(opened), Code::ok) << opened.status().message();
        if (opened) {
          auto step = opened->declare(part.declaration());
          ASSERT_EQ(same(step), Code::ok) << step.status().message();
          const auto data = part.all_data(9);
          EXPECT_EQ(give(*step, data).message(), "");
          expect_code(step->finish(), Code::too_many_files, "data");
          EXPECT_NE(same(opened->close()), Code::ok);
        }
      }
      expect_contents(file("data"), pattern_file(2, part.file_size));
      expect_no_temporaries();
      EXPECT_EQ(open_descriptors(), descriptors);
      expect_works(weir, file("data"), part, {}, 3);
      ASSERT_FALSE(failed_anywhere());
    }
}

/// Some rank's explanation has these words.
void RealFaults::expect_said(const std::string& explanation, const std::string& words) {
  EXPECT_TRUE(any_rank(explanation.find(words) != std::string::npos)) << words << " is not in " << explanation;
}

/// Writes and checks a file through aggregators; what they say of it.
std::string RealFaults::write_through(const Settings& settings) {
  Context weir{MPI_COMM_WORLD, settings};
  const Part part = Part::interleaved(rank(), ranks(), 100, 60);
  auto opened = weir.create(file("data"));
  auto step = opened->declare(part.declaration());
  EXPECT_EQ(same(step), Code::ok) << step.status().message();
  const auto data = part.all_data(5);
  EXPECT_EQ(give(*step, data).message(), "");
  EXPECT_EQ(same(step->finish()), Code::ok);
  EXPECT_EQ(same(opened->close()), Code::ok);
  expect_contents(file("data"), pattern_file(5, part.file_size));
  return step->explain();
}

TEST_F(RealFaults, buffers_on_full_node_storage_fall_to_the_next_bank_and_say_so) {
  if (!mount_small("size=10m")) GTEST_SKIP() << why_skipped;
  if (rank() == 0)
    std::ofstream{file("machine.toml")} << fmt::format(R"(
name = "test"
[topology]
kind = "flat"
nodes = {}
[topology.links.link]
bandwidth = "1 GB/s"
[[bank]]
name = "scratch"
kind = "nvme"
capacity = "1 GB"
read = "2 GB/s"
write = "2 GB/s"
persistency = "job"
path = "{}"
[[bank]]
name = "spare"
kind = "dram"
capacity = "1 GB"
read = "20 GB/s"
write = "20 GB/s"
)",
                                                   ranks(), file("mount"));
  MPI_Barrier(MPI_COMM_WORLD);
  for (const char* per_node : {"0", "2"}) {
    const Settings settings{{"machine.description", file("machine.toml")}, {"machine.ranks_per_node", per_node},
                            {"memory.tier", "scratch"},                    {"plan.buffer_size", "4096"},
                            {"exchange.chunk", "4096"}};
    expect_said(write_through(settings), "are in scratch\n");
    Settings lasting = settings;
    lasting["memory.tier"] = "";
    lasting["memory.persistency"] = "job";
    expect_said(write_through(lasting), "are in scratch\n");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) std::ofstream{file("mount/filler")} << std::string(11 * mib, 'x');
    MPI_Barrier(MPI_COMM_WORLD);
    expect_said(write_through(settings), "are in spare, because scratch had no room");
    {
      Context weir{MPI_COMM_WORLD, lasting};
      auto opened = weir.create(file("data"));
      auto step = opened->declare(Part::interleaved(rank(), ranks(), 100, 60).declaration());
      EXPECT_EQ(same(step), Code::no_space) << step.status().message();
      EXPECT_EQ(same(opened->close()), Code::ok);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) std::filesystem::remove(file("mount/filler"));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(RealFaults, full_node_storage_and_a_full_file_system_below_a_drain_lose_nothing) {
  if (!mount_small("size=10m")) GTEST_SKIP() << why_skipped;
  const auto quarter = static_cast<std::uint64_t>(4 * ranks());
  const Part small = Part::blocks(rank(), ranks(), 4 * mib / quarter, 4);
  const Part large = Part::blocks(rank(), ranks(), 16 * mib / quarter, 4);
  for (const char* per_node : {"0", "2"}) {
    Watchdog::watch(fmt::format("full node storage, {} ranks a node", per_node));
    const auto settings = [&](const std::string& directory) -> Settings {
      return {{"storage.tier", "node"},
              {"memory.node_directory", file(directory)},
              {"machine.ranks_per_node", per_node},
              {"plan.buffer_size", "64KiB"}};
    };
    const auto write = [&](Context& weir, const std::string& path, const Part& part, std::uint64_t seed) {
      auto opened = weir.create(path);
      auto step = opened->declare(part.declaration());
      const auto data = part.all_data(seed);
      EXPECT_EQ(give(*step, data).message(), "");
      const Status finished = step->finish(), closed = (same(finished), opened->close());
      EXPECT_EQ(same(closed), finished.code());
      return closed;
    };
    const auto drained = [&](Context& weir, const std::string& path) {
      auto drain = weir.drain(path);
      return drain ? drain->wait() : drain.status();
    };
    {
      Context weir{MPI_COMM_WORLD, settings("mount/node{node}")};
      ASSERT_EQ(write(weir, file("data"), small, 1).message(), "");
      expect_code(write(weir, file("data"), large, 2), Code::no_space);
      ASSERT_EQ(same(drained(weir, file("data"))), Code::ok);
      expect_contents(file("data"), pattern_file(1, small.file_size));
    }
    Context weir{MPI_COMM_WORLD, settings("node{node}")};
    ASSERT_EQ(write(weir, file("mount/large"), large, 2).message(), "");
    expect_code(drained(weir, file("mount/large")), Code::no_space);
    MPI_Barrier(MPI_COMM_WORLD);
    for (const std::string& name : names()) EXPECT_EQ(name.find("large"), std::string::npos) << name;
    // It is still there, and goes where there is room.
    auto opened = weir.open(file("mount/large"));
    ASSERT_EQ(same(opened), Code::ok) << opened.status().message();
    auto step = opened->declare(large.declaration());
    auto data = large.all_data(0);
    EXPECT_EQ(take(*step, data).message(), "");
    EXPECT_EQ(same(step->finish()), Code::ok);
    EXPECT_TRUE(data == large.all_data(2));
    EXPECT_EQ(opened->close().message(), "");
  }
}

TEST_F(RealFaults, a_tier_that_no_bank_is_of_is_told_with_those_that_there_are) {
  Context weir{MPI_COMM_WORLD, {{"memory.tier", "nvm"}}};
  auto opened = weir.create(file("data"));
  auto step = opened->declare(Part::interleaved(rank(), ranks(), 100, 60).declaration());
  expect_code(step, Code::no_memory, "dram: 'nvm' is asked for");
  EXPECT_EQ(same(opened->close()), Code::ok);
  auto set = weir.create(file("set"), {{"plan.files", "node"}});
  auto part = set->declare(Part::interleaved(rank(), ranks(), 100, 60).declaration());
  expect_code(part, Code::no_memory, "dram: 'nvm' is asked for");
  EXPECT_EQ(same(set->close()), Code::ok);
  Context unaware{MPI_COMM_WORLD};
  expect_code(unaware.create(file("data"), {{"memory.tier", "dram"}}), Code::settings, "need to know the machine");
}

}  // namespace
}  // namespace weir::testing

#include <sys/stat.h>

#include <fstream>

#include "fault/harness.hpp"

// Files on storage of the nodes: what a later job finds, what it never takes for whole, and draining.
namespace weir::testing {
namespace {

namespace fs = std::filesystem;

class NodeStorage : public FaultWorld {
 protected:
  void SetUp() override {
    FaultWorld::SetUp();
    Watchdog::watch(::testing::UnitTest::GetInstance()->current_test_info()->name(), 60);
  }
  static constexpr int per_node = 2;
  [[nodiscard]] int nodes() const { return (ranks() + per_node - 1) / per_node; }
  [[nodiscard]] Settings settings(const std::string& nodes_at = "node") const {
    return {{"storage.tier", "node"},
            {"memory.node_directory", file(nodes_at + "{node}")},
            {"machine.ranks_per_node", std::to_string(per_node)},
            {"plan.buffer_size", "4096"},
            {"exchange.chunk", "4096"}};
  }
  [[nodiscard]] Settings with(const std::string& name, const std::string& value) const {
    Settings given = settings();
    given[name] = value;
    return given;
  }
  [[nodiscard]] Part part() const { return Part::interleaved(rank(), ranks(), 1000, 60); }

  /// Names below the directory that begin so, on all ranks.
  [[nodiscard]] std::vector<std::string> names(const std::string& beginning) const {
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator{directory()}) {
      const std::string name = fs::relative(entry.path(), directory()).string();
      if (entry.is_regular_file() && name.starts_with(beginning)) found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    MPI_Barrier(MPI_COMM_WORLD);
    return found;
  }
  /// Those that end with "index", or are sub-files.
  [[nodiscard]] std::vector<std::string> some(const std::string& node, bool index) const {
    std::vector<std::string> found;
    for (const std::string& name : names(node))
      if (name.ends_with(".index") == index) found.push_back(file(name));
    return found;
  }

  Status write(Context& weir, std::uint64_t seed, const Settings& given = {}) {
    auto opened = weir.create(file("data"), given);
    if (same(opened) != Code::ok) return opened.status();
    auto step = opened->declare(part().declaration());
    if (same(step) != Code::ok) return step.status();
    const auto data = part().all_data(seed);
    EXPECT_EQ(give(*step, data).message(), "");
    const Status finished = step->finish(), closed = (same(finished), opened->close());
    EXPECT_TRUE(!closed.ok() || finished.ok());
    (void)same(closed);
    return closed;
  }
  /// What reading gives, which is right when it is success. `reader` of `readers` ranks read all of it.
  static Status read(Context& weir, const std::string& path, int reader, int readers, std::uint64_t seed,
                     std::uint64_t size, const Settings& given = {}) {
    auto opened = weir.open(path, given);
    if (!opened) return opened.status();
    const std::uint64_t begin = size * static_cast<std::uint64_t>(reader) / static_cast<std::uint64_t>(readers),
                        end = size * static_cast<std::uint64_t>(reader + 1) / static_cast<std::uint64_t>(readers);
    auto step = opened->declare(Declaration{{begin, end - begin, 0, 1}});
    if (!step) return step.status();
    Bytes data(end - begin);
    EXPECT_EQ(step->read(0, data).message(), "");
    const Status status = step->finish();
    Bytes expected;
    append_pattern(expected, seed, begin, end - begin);
    EXPECT_TRUE(!status.ok() || data == expected) << "other bytes than those of " << seed;
    EXPECT_EQ(opened->close().message(), "");
    return status;
  }
  Status read(Context& weir, std::uint64_t seed, const Settings& given = {}) {
    const Status status = read(weir, file("data"), rank(), ranks(), seed, part().file_size, given);
    (void)same(status);
    return status;
  }
  Status drain(Context& weir, const Settings& given = {}) {
    auto begun = weir.drain(file("data"), given);
    if (same(begun) != Code::ok) return begun.status();
    const Status status = begun->wait();
    (void)same(status);
    if (status.ok()) {
      EXPECT_EQ(begun->progress().done, begun->progress().total);
      EXPECT_TRUE(begun->test());
    }
    return status;
  }
  template <class Change>
  void on_rank_0(Change&& change) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) change();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  /// What the nodes have, copied elsewhere and back.
  void copy_nodes(const std::string& from, const std::string& to) const {
    on_rank_0([&] {
      for (int node = 0; node < nodes(); ++node)
        fs::copy(file(from + std::to_string(node)), file(to + std::to_string(node)),
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    });
  }
};

TEST_F(NodeStorage, holds_one_file_a_node_and_nothing_in_the_file_system) {
  Context weir{MPI_COMM_WORLD, settings()};
  for (const char* mode : {"aggregate", "direct"}) {
    ASSERT_EQ(write(weir, 1, {{"plan.mode", mode}}).message(), "");
    EXPECT_EQ(names("data"), std::vector<std::string>{});
    EXPECT_EQ(names("."), std::vector<std::string>{});
    for (int node = 0; node < nodes(); ++node) {
      EXPECT_EQ(some("node" + std::to_string(node), true).size(), 1u);
      EXPECT_EQ(some("node" + std::to_string(node), false).size(), 1u);
    }
    EXPECT_EQ(read(weir, 1, {{"plan.mode", mode}}).message(), "");
  }
}

TEST_F(NodeStorage, is_read_by_a_later_job_of_another_number_of_ranks) {
  {
    Context weir{MPI_COMM_WORLD, settings()};
    ASSERT_EQ(write(weir, 1).message(), "");
  }
  for (const int readers_a_node : {1, 2}) {
    const int readers = nodes() * readers_a_node;
    if (readers > ranks()) continue;
    // In the reverse order, so that rank 0 is another one.
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() < readers ? 0 : MPI_UNDEFINED, -rank(), &some);
    if (some != MPI_COMM_NULL) {
      Settings given = settings();
      given["machine.ranks_per_node"] = std::to_string(readers_a_node);
      Context weir{some, given};
      int reader = 0;
      MPI_Comm_rank(some, &reader);
      for (const char* between : {"two-sided", "one-sided"})
        EXPECT_EQ(read(weir, file("data"), reader, readers, 1, part().file_size, {{"exchange.between_nodes", between}})
                      .message(),
                  "");
      MPI_Comm_free(&some);
    }
  }
}

TEST_F(NodeStorage, is_found_on_nodes_in_another_order_and_in_a_shared_directory) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  on_rank_0([&] {
    for (int node = 0; node < nodes(); ++node)
      fs::rename(file("node" + std::to_string(node)), file("turned" + std::to_string(nodes() - 1 - node)));
    for (int node = 0; node < nodes(); ++node)
      fs::copy(file("turned" + std::to_string(node)), file("one"),
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  });
  EXPECT_EQ(read(weir, 1, settings("turned")).message(), "");
  EXPECT_EQ(read(weir, 1, with("memory.node_directory", file("one"))).message(), "");
  EXPECT_EQ(read(weir, 1, {{"plan.mode", "direct"}, {"memory.node_directory", file("one")}}).message(), "");
}

TEST_F(NodeStorage, in_a_directory_that_all_nodes_share_works_too) {
  Context weir{MPI_COMM_WORLD, with("memory.node_directory", file("one"))};
  for (std::uint64_t seed : {1u, 2u}) ASSERT_EQ(write(weir, seed).message(), "");
  EXPECT_EQ(names("one").size(), static_cast<std::size_t>(nodes()) + 1);
  EXPECT_EQ(read(weir, 2).message(), "");
  EXPECT_EQ(drain(weir).message(), "");
  expect_contents(file("data"), pattern_file(2, part().file_size));
  EXPECT_EQ(names("one"), std::vector<std::string>{});
}

TEST_F(NodeStorage, of_a_node_that_is_missing_is_not_taken_for_whole) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  on_rank_0([&] { fs::remove_all(file("node" + std::to_string(nodes() - 1))); });
  expect_code(read(weir, 1), Code::not_found, nodes() > 1 ? "1 of" : "data");
  expect_code(drain(weir), Code::not_found, nodes() > 1 ? "not on the nodes of this job" : "nothing of it");
  // Neither is it read when it is only without its end.
  ASSERT_EQ(write(weir, 2).message(), "");
  const auto files = some("node" + std::to_string(nodes() - 1), false);
  on_rank_0([&] { fs::resize_file(files.front(), fs::file_size(files.front()) - 1); });
  expect_code(read(weir, 2), Code::not_found, "1 of");
}

/// As a program leaves it that is killed at any time before the index has its name on every node.
TEST_F(NodeStorage, of_a_killed_program_gives_way_to_what_was_complete_before) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  copy_nodes("node", "before");
  copy_nodes("node", "killed");
  {
    auto opened = weir.create(file("data"));
    auto step = opened->declare(part().declaration());
    const auto data = part().all_data(2);
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
    copy_nodes("node", "killed");  // all its data, and no index
    EXPECT_EQ(opened->close().message(), "");
  }
  EXPECT_EQ(read(weir, 1, settings("killed")).message(), "");
  EXPECT_EQ(read(weir, 2).message(), "");
  // The new index has its name on some nodes only, and the old set is still there.
  copy_nodes("before", "node");
  const auto indices = some("node" + std::to_string(nodes() - 1), true);
  ASSERT_EQ(indices.size(), 2u);
  EXPECT_EQ(read(weir, 2).message(), "");
  if (nodes() > 1) {
    on_rank_0([&] {
      for (const std::string& index : indices) fs::remove(index);
    });
    EXPECT_EQ(read(weir, 2).message(), "");
  }
  // A sub-file of the new one is lost: the old one is complete.
  const auto files = some("node0", false), old = some("before0", false);
  on_rank_0([&] {
    for (const std::string& path : files)
      if (fs::path{path}.filename() != fs::path{old.front()}.filename()) fs::remove(path);
  });
  EXPECT_EQ(read(weir, 1).message(), "");
  // The next one clears away all that is left.
  ASSERT_EQ(write(weir, 3).message(), "");
  EXPECT_EQ(names("node").size(), 2 * static_cast<std::size_t>(nodes()));
  EXPECT_EQ(read(weir, 3).message(), "");
}

TEST_F(NodeStorage, that_changed_is_an_error_and_never_data) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  const auto files = some("node0", false);
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{50'001}}) {
    const auto flip = [&] {
      on_rank_0([&] {
        std::fstream out{files.front(), std::ios::in | std::ios::out | std::ios::binary};
        out.seekg(static_cast<std::streamoff>(at));
        const char value = static_cast<char>(out.get() ^ 1);
        out.seekp(static_cast<std::streamoff>(at));
        out.put(value);
      });
    };
    flip();
    for (const char* mode : {"aggregate", "auto"})
      expect_code(read(weir, 1, {{"plan.mode", mode}}), Code::corrupt, "not what was written");
    expect_code(drain(weir), Code::corrupt, "not what was written");
    EXPECT_EQ(names("data"), std::vector<std::string>{});
    expect_no_temporaries();
    flip();
    EXPECT_EQ(read(weir, 1).message(), "");
  }
  const auto index = some("node", true);
  on_rank_0([&] { fs::resize_file(index.front(), fs::file_size(index.front()) / 2); });
  if (nodes() > 1)
    EXPECT_EQ(read(weir, 1).message(), "");
  else
    expect_code(read(weir, 1), Code::not_found, "data");
}

TEST_F(NodeStorage, is_drained_to_a_plain_file) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  ASSERT_EQ(drain(weir, {{"drain.keep", "yes"}}).message(), "");
  expect_contents(file("data"), pattern_file(1, part().file_size));
  EXPECT_EQ(names("node").size(), 2 * static_cast<std::size_t>(nodes()));
  // It stays, is as new as the plain file, and is read from the nodes.
  on_rank_0([&] {
    const auto written = fs::last_write_time(file("data"));
    put(file("data"), Bytes(10, 1));
    fs::last_write_time(file("data"), written);
  });
  EXPECT_EQ(read(weir, 1).message(), "");
  ASSERT_EQ(drain(weir).message(), "");
  expect_contents(file("data"), pattern_file(1, part().file_size));
  EXPECT_EQ(names("node"), std::vector<std::string>{});
  EXPECT_EQ(read(weir, 1).message(), "");
  expect_code(drain(weir), Code::not_found, "nothing of it");
  expect_no_temporaries();
}

TEST_F(NodeStorage, goes_on_while_it_is_drained) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  auto begun = weir.drain(file("data"));
  ASSERT_EQ(same(begun), Code::ok) << begun.status().message();
  ASSERT_EQ(write(weir, 2).message(), "");  // the next one under the same name
  EXPECT_EQ(read(weir, 2).message(), "");
  std::uint64_t mine = begun->progress().total, total = 0;
  MPI_Allreduce(&mine, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(total, part().file_size);
  ASSERT_EQ(same(begun->wait()), Code::ok);
  expect_contents(file("data"), pattern_file(1, part().file_size));
  EXPECT_EQ(read(weir, 2).message(), "");  // which is newer
  expect_code(begun->wait(), Code::invalid, "twice");
  // A drain that is slower than that of its successor does not take its place.
  auto late = weir.drain(file("data"));
  ASSERT_EQ(same(late), Code::ok) << late.status().message();
  ASSERT_EQ(write(weir, 3).message(), "");
  ASSERT_EQ(drain(weir).message(), "");
  expect_code(late->wait(), Code::exists, "anew");
  expect_contents(file("data"), pattern_file(3, part().file_size));
  expect_no_temporaries();
}

TEST_F(NodeStorage, is_drained_by_one_node_after_another_where_they_would_undo_one_anothers_pages) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  auto begun = weir.drain(file("data"), {{"drain.turns", "yes"}, {"drain.keep", "yes"}});
  ASSERT_EQ(same(begun), Code::ok) << begun.status().message();
  while (!begun->test()) usleep(1000);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() / per_node != 0) {
    EXPECT_EQ(begun->progress().done, 0u);  // not before the program waits
  }
  ASSERT_EQ(same(begun->wait()), Code::ok);
  EXPECT_EQ(begun->progress().done, begun->progress().total);
  expect_contents(file("data"), pattern_file(1, part().file_size));
  // An error of one node ends it on all.
  const int last = (nodes() - 1) * per_node;
  expect_code(drain(weir, {{"drain.turns", "yes"}, {"storage.fault", fmt::format("op=write error=EIO rank={}", last)}}),
              Code::io);
  EXPECT_EQ(read(weir, 1).message(), "");
  ASSERT_EQ(drain(weir, {{"drain.turns", "yes"}}).message(), "");
  expect_no_temporaries();
}

TEST_F(NodeStorage, is_drained_no_faster_than_asked) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  std::uint64_t all = 0;
  {
    auto begun = weir.drain(file("data"));
    ASSERT_EQ(same(begun), Code::ok);
    std::uint64_t mine = begun->progress().total;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  }
  const double start = MPI_Wtime();
  ASSERT_EQ(drain(weir, {{"drain.rate", std::to_string(4 * all)}}).message(), "");
  EXPECT_GE(MPI_Wtime() - start, 0.2);
  expect_contents(file("data"), pattern_file(1, part().file_size));
}

TEST_F(NodeStorage, is_newer_than_what_was_in_the_file_system_before_whatever_its_clock_says) {
  Context weir{MPI_COMM_WORLD, settings()};
  prepare(file("data"), pattern_file(9, 50));
  on_rank_0([&] { fs::last_write_time(file("data"), fs::file_time_type::clock::now() + std::chrono::hours{1}); });
  ASSERT_EQ(write(weir, 1).message(), "");
  EXPECT_EQ(read(weir, 1).message(), "");
  ASSERT_EQ(drain(weir).message(), "");
  expect_contents(file("data"), pattern_file(1, part().file_size));
}

TEST_F(NodeStorage, stays_when_draining_fails_or_is_given_up) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  prepare(file("data"), pattern_file(9, 50));
  on_rank_0([&] { fs::last_write_time(file("data"), fs::file_time_type::clock::now() - std::chrono::hours{1}); });
  for (const std::string op : {"open", "read", "write", "sync", "close", "rename"})
    for (int n = 0; n < 100; ++n) {
      const std::string rule = fmt::format("op={} error=ENOSPC after={} rank=0", op, n);
      SCOPED_TRACE(rule);
      const Status status = drain(weir, {{"storage.fault", rule}, {"drain.keep", "yes"}});
      expect_no_temporaries();
      if (status.ok()) {
        expect_contents(file("data"), pattern_file(1, part().file_size));
        EXPECT_GT(n, 0);
        prepare(file("data"), pattern_file(9, 50));
        on_rank_0([&] { fs::last_write_time(file("data"), fs::file_time_type::clock::now() - std::chrono::hours{1}); });
        break;
      }
      EXPECT_EQ(name(status.code()), std::string{"no_space"}) << status.message();
      expect_contents(file("data"), pattern_file(9, 50));
      if (failed_anywhere()) FAIL() << rule;
    }
  {
    auto begun = weir.drain(file("data"));
    ASSERT_EQ(same(begun), Code::ok);
  }
  expect_no_temporaries();
  EXPECT_EQ(read(weir, 1).message(), "");
}

TEST_F(NodeStorage, that_is_older_than_the_file_system_is_left_alone) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  prepare(file("data"), pattern_file(2, part().file_size));
  on_rank_0([&] { fs::last_write_time(file("data"), fs::file_time_type::clock::now() + std::chrono::seconds{1}); });
  EXPECT_EQ(read(weir, 2).message(), "");
  expect_code(drain(weir), Code::not_found, "newer");
  // Without the setting nobody looks there.
  on_rank_0([&] { fs::remove(file("data")); });
  expect_code(read(weir, 1, {{"storage.tier", "file-system"}}), Code::not_found);
  EXPECT_EQ(read(weir, 1).message(), "");
  expect_code(weir.update(file("data")), Code::unsupported, "on storage of the nodes");
}

TEST_F(NodeStorage, survives_faults_of_its_successor) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  auto before = names("");
  for (const std::string op : {"open", "write", "sync", "close", "rename"})
    for (const int r : {-1, 0, ranks() - 1})
      for (int n = 0; n < 200; ++n) {
        const std::string rule =
            fmt::format("op={} error=EIO after={}{}", op, n, r < 0 ? std::string{} : fmt::format(" rank={}", r));
        SCOPED_TRACE(rule);
        Watchdog::watch(rule);
        const std::size_t descriptors = open_descriptors();
        const Status status = write(weir, 2,
                                    {{"storage.fault", rule},
                                     {"storage.durability", "durable"},
                                     {"plan.mode", n % 2 == 0 ? "aggregate" : "direct"}});
        EXPECT_EQ(open_descriptors(), descriptors);
        if (!status.ok()) {
          EXPECT_EQ(name(status.code()), std::string{"io"}) << status.message();
          EXPECT_EQ(names(""), before);
        }
        EXPECT_TRUE(!status.ok() || n > 0 || r > 0) << "rank 0 does all of these at least once";
        EXPECT_EQ(read(weir, status.ok() ? 2 : 1).message(), "");
        if (failed_anywhere()) FAIL() << rule;
        if (status.ok()) {
          ASSERT_EQ(write(weir, 1).message(), "");
          before = names("");
          break;
        }
      }
}

TEST_F(NodeStorage, tells_faults_of_reading_by_all_ranks) {
  Context weir{MPI_COMM_WORLD, settings()};
  ASSERT_EQ(write(weir, 1).message(), "");
  for (const std::string op : {"open", "read"})
    for (const int r : {-1, 0, ranks() - 1})
      for (int n = 0; n < 100; ++n) {
        const std::string rule =
            fmt::format("op={} error=EIO after={}{}", op, n, r < 0 ? std::string{} : fmt::format(" rank={}", r));
        SCOPED_TRACE(rule);
        Watchdog::watch(rule);
        const Status status = read(weir, 1, {{"storage.fault", rule}});
        if (failed_anywhere()) FAIL() << rule;
        if (status.ok()) break;
        EXPECT_EQ(name(status.code()), std::string{"io"}) << status.message();
      }
}

TEST_F(NodeStorage, needs_settings_that_make_sense) {
  const auto refused = [&](const Settings& given, const std::string& words) {
    Context weir{MPI_COMM_WORLD};
    expect_code(weir.create(file("data"), given), Code::settings, words);
  };
  refused({{"storage.tier", "node"}}, "memory.node_directory is not set");
  refused({{"storage.tier", "node"}, {"memory.node_directory", file("x")}, {"storage.kind", "null"}}, "storage.kind");
  refused({{"storage.tier", "node"}, {"memory.node_directory", file("x")}, {"plan.files", "rank"}}, "plan.files=rank");
  Context weir{MPI_COMM_WORLD};
  expect_code(weir.drain(file("data")), Code::settings, "storage.tier is not node");
  prepare(file("plain"), Bytes(1, 1));
  expect_code(weir.create(file("data"), {{"storage.tier", "node"}, {"memory.node_directory", file("plain")}}),
              Code::not_found, "plain");
}

}  // namespace
}  // namespace weir::testing

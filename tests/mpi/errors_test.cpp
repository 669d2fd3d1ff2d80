#include <fcntl.h>
#include <sys/stat.h>

#include "fault/harness.hpp"

// Wrong use: every rank gets the same code, and a message that says what to do.
namespace weir::testing {
namespace {

class WrongUse : public FaultWorld {
 protected:
  void SetUp() override {
    FaultWorld::SetUp();
    Watchdog::watch(::testing::UnitTest::GetInstance()->current_test_info()->name(), 60);
  }
  [[nodiscard]] bool last() const { return rank() == ranks() - 1; }
  /// A block of 100 bytes a rank.
  [[nodiscard]] Declaration block() const { return {{static_cast<std::uint64_t>(rank()) * 100, 100, 0, 1}}; }
  /// One file a test, written through aggregators.
  Result<File> create(Context& weir) { return weir.create(file("data"), {{"plan.mode", "aggregate"}}); }
  /// The context and the file work after all that was wrong.
  void expect_still_works(File& opened) {
    auto step = opened.declare(block());
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    const Bytes data(100, static_cast<unsigned char>('a' + rank()));
    EXPECT_EQ(step->write(0, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
    EXPECT_EQ(opened.close().message(), "");
    Bytes expected;
    for (int r = 0; r < ranks(); ++r) expected.insert(expected.end(), 100, static_cast<unsigned char>('a' + r));
    expect_contents(file("data"), expected);
  }
  /// Nobody else's business: only this rank gets the error.
  static void expect_here(const Status& status, Code code, const std::string& words) {
    EXPECT_EQ(name(status.code()), std::string{name(code)}) << status.message();
    EXPECT_EQ(status.message().substr(0, 6), "weir: ");
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }
};

/// The same on one node and on nodes of two ranks.
class WrongDeclarations : public WrongUse, public ::testing::WithParamInterface<const char*> {};

TEST_P(WrongDeclarations, that_differ_between_ranks_are_told_by_all) {
  Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", GetParam()}}};
  auto opened = create(weir);
  ASSERT_EQ(same(opened), Code::ok);
  const Run run{static_cast<std::uint64_t>(rank()) * 100, 100, 0, 1};
  if (ranks() > 1) {
    Declaration more{run};
    if (last()) more.variable(Run{5000, 1, 0, 1});
    expect_code(opened->declare(more), Code::mismatch, "declare the same variables on every rank");
    Declaration elsewhere;
    elsewhere.variable(elsewhere.decomposition(std::vector<Run>{run}), last() ? 8 : 0);
    expect_code(opened->declare(elsewhere), Code::mismatch, "same decomposition and place");
    Declaration unused{run};
    if (last()) unused.decomposition(std::vector<Run>{run});
    expect_code(opened->declare(unused), Code::mismatch, "decompositions");
  }
  expect_still_works(*opened);
}

TEST_P(WrongDeclarations, that_cannot_be_on_one_rank_are_told_by_all) {
  Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", GetParam()}}};
  auto opened = create(weir);
  ASSERT_EQ(same(opened), Code::ok);
  const auto expect_wrong = [&](Declaration wrong, const char* words) {
    Declaration right;
    if (wrong.variables() > 0) right.variable(std::vector<Run>{});
    expect_code(opened->declare(last() ? wrong : right), Code::invalid, words);
  };
  const std::uint64_t end = std::uint64_t{1} << 63;
  expect_wrong({{end - 4, 5, 0, 1}}, "beyond 2^63");
  expect_wrong({{0, 1, end, 3}}, "beyond 2^63");
  expect_wrong({{~std::uint64_t{0}, ~std::uint64_t{0}, 0, 1}}, "beyond 2^63");
  Declaration box;
  box.variable(Box{{10, 10}, {5, 0}, {6, 10}, 4, 0});
  expect_wrong(box, "outside the array");
  box = {};
  box.variable(Box{{10, 10}, {0}, {1, 1}, 4, 0});
  expect_wrong(box, "dimensions");
  box = {};
  box.variable(Box{{10}, {0}, {10}, 0, 0});
  expect_wrong(box, "0 bytes");
  box = {};
  box.variable(Box{{end, end}, {0, 0}, {1, 1}, 1, 0});
  expect_wrong(box, "2^63");
  Declaration at;
  at.variable(at.decomposition(std::vector<Run>{{0, 10, 0, 1}}), end - 5);
  expect_wrong(at, "beyond 2^63");
  Declaration missing;
  missing.variable(3, 0);
  expect_wrong(missing, "does not exist");
  expect_still_works(*opened);
}

INSTANTIATE_TEST_SUITE_P(Nodes, WrongDeclarations, ::testing::Values("0", "2"));

TEST_F(WrongUse, a_box_that_overflows_is_an_error_and_not_a_wrong_place) {
  Context weir{MPI_COMM_WORLD};
  auto opened = create(weir);
  Declaration box;
  box.variable(Box{{1 << 20}, {0}, {1 << 20}, 8, ~std::uint64_t{0} - 7});
  expect_code(opened->declare(box), Code::invalid, "2^63");
  expect_still_works(*opened);
}

TEST_F(WrongUse, data_that_was_not_declared_so_is_refused_on_that_rank) {
  Context weir{MPI_COMM_WORLD};
  auto opened = create(weir);
  auto step = opened->declare(block());
  ASSERT_EQ(same(step), Code::ok);
  Bytes data(101, 'x');
  expect_here(step->write(0, data), Code::invalid, "pass the declared size");
  expect_here(step->write(1, data), Code::invalid, "counted from 0");
  expect_here(step->write(-1, data), Code::invalid, "counted from 0");
  expect_here(step->write(0, nullptr, 100), Code::invalid, "null");
  expect_here(step->read(0, data), Code::invalid, "open for writing");
  data.assign(100, static_cast<unsigned char>('a' + rank()));
  EXPECT_EQ(step->write(0, data).message(), "");
  expect_here(step->write(0, data), Code::invalid, "given already");
  expect_here(step->wait(), Code::invalid, "not started");
  EXPECT_EQ(step->start().message(), "");
  expect_here(step->write(0, data), Code::invalid, "started");
  expect_here(step->start(), Code::invalid, "wait for it first");
  EXPECT_EQ(step->wait().message(), "");
  expect_still_works(*opened);
}

TEST_F(WrongUse, a_variable_that_one_rank_did_not_give_fails_the_step_on_all) {
  for (const char* per_node : {"0", "2"})
    for (const char* mode : {"direct", "aggregate"}) {
      Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
      auto opened = weir.create(file("data"), {{"plan.mode", mode}, {"plan.buffer_size", "64"}, {"plan.aggregators", "2"}});
      auto step = opened->declare(block());
      ASSERT_EQ(same(step), Code::ok);
      const Bytes data(100, static_cast<unsigned char>('a' + rank()));
      if (!last()) {
        EXPECT_EQ(step->write(0, data).message(), "");
      }
      const Status status = step->finish();
      expect_code(status, Code::invalid, "give every variable");
      EXPECT_NE(status.message().find(fmt::format("variable 0 was declared and not written on rank {}", ranks() - 1)),
                std::string::npos);
      EXPECT_LE(status.bytes(), 100u * static_cast<unsigned>(ranks() - 1));
      EXPECT_EQ(step->write(0, data).message(), "");
      EXPECT_EQ(step->finish().message(), "");
      expect_still_works(*opened);
      ASSERT_FALSE(failed_anywhere());
    }
}

TEST_F(WrongUse, reading_past_the_end_is_told_by_all_ranks) {
  prepare(file("data"), pattern_file(1, 100 * static_cast<std::uint64_t>(ranks()) - 1));
  for (const char* per_node : {"0", "2"})
    for (const char* mode : {"direct", "aggregate"}) {
      Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
      auto opened = weir.open(file("data"), {{"plan.mode", mode}});
      ASSERT_EQ(same(opened), Code::ok);
      auto step = opened->declare(block());
      ASSERT_EQ(same(step), Code::ok);
      Bytes data(100);
      expect_here(step->write(0, data), Code::invalid, "open for reading");
      EXPECT_EQ(step->read(0, data).message(), "");
      const Status status = step->finish();
      expect_code(status, Code::end_of_file, "declare only what was written");
      EXPECT_LT(status.bytes(), 100u * static_cast<unsigned>(ranks()));
      EXPECT_EQ(same(opened->close()), Code::ok);
      ASSERT_FALSE(failed_anywhere());
    }
}

TEST_F(WrongUse, a_plan_of_another_direction_context_or_rank_is_refused) {
  Context weir{MPI_COMM_WORLD}, other{MPI_COMM_WORLD};
  auto opened = create(weir);
  auto step = opened->declare(block());
  auto second = opened->declare({{static_cast<std::uint64_t>(rank()) * 7, 7, 0, 1}});
  ASSERT_EQ(same(step), Code::ok);
  ASSERT_EQ(same(second), Code::ok);
  if (ranks() > 1) expect_code(opened->step(last() ? step->plan() : second->plan()), Code::mismatch, "the same plan on all ranks");
  prepare(file("there"), pattern_file(1, 100 * static_cast<std::uint64_t>(ranks())));
  auto reading = weir.open(file("there"));
  expect_code(reading->step(step->plan()), Code::invalid, "open for reading");
  auto elsewhere = other.create(file("elsewhere"));
  expect_code(elsewhere->step(step->plan()), Code::invalid, "another context");
  expect_code(opened->step(Plan{nullptr}), Code::invalid, "empty plan");
  EXPECT_EQ(same(reading->close()), Code::ok);
  EXPECT_EQ(same(elsewhere->close()), Code::ok);
  expect_still_works(*opened);
}

TEST_F(WrongUse, different_collective_calls_are_a_mismatch_everywhere_and_nothing_is_lost) {
  if (ranks() == 1) GTEST_SKIP() << "one rank cannot differ";
  for (const char* per_node : {"0", "2"}) {
    Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
    auto opened = create(weir);
    auto another = weir.create(file("another"));
    expect_code(rank() == 0 ? opened->close() : opened->sync(), Code::mismatch, "same order");
    expect_code(rank() == 0 ? opened->sync() : opened->close(), Code::mismatch, "same order");
    expect_code(rank() == 0 ? opened->sync() : another->sync(), Code::mismatch, "different files");
    expect_code(rank() == 0 ? opened->sync() : opened->declare(block()).status(), Code::mismatch, "same order");
    expect_code(last() ? weir.open(file("x")).status() : weir.create(file("x")).status(), Code::mismatch, "same order");
    expect_code(last() ? opened->sync() : weir.create(file("x")).status(), Code::mismatch, "same order");
    expect_code(last() ? weir.load_plan(file("x")).status() : opened->sync(), Code::mismatch, "same order");
    EXPECT_EQ(same(another->close()), Code::ok);
    expect_still_works(*opened);
    auto later = create(weir);
    expect_still_works(*later);
    expect_no_temporaries();
    ASSERT_FALSE(failed_anywhere());
  }
}

TEST_F(WrongUse, ranks_that_wait_for_data_of_others_in_another_call_are_told_in_bounded_time) {
  if (ranks() == 1) GTEST_SKIP() << "one rank cannot differ";
  using Other = Status (*)(Context&, File&, Step&, const std::string& path);
  const Other others[] = {[](Context&, File& opened, Step&, const std::string&) { return opened.sync(); },
                          [](Context&, File& opened, Step&, const std::string&) { return opened.close(); },
                          [](Context&, File& opened, Step& step, const std::string&) { return opened.close(step); },
                          [](Context& weir, File&, Step&, const std::string& path) { return weir.create(path).status(); }};
  for (const Other& other : others) {
    Context weir{MPI_COMM_WORLD};
    {
      auto opened = create(weir);
      auto step = opened->declare(block());
      ASSERT_EQ(same(step), Code::ok);
      const Bytes data(100, 'x');
      EXPECT_EQ(step->write(0, data).message(), "");
      const auto start = std::chrono::steady_clock::now();
      expect_code(last() ? other(weir, *opened, *step, file("x")) : step->finish(), Code::mismatch, "same order");
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{10});
      (void)opened->close();
    }
    expect_no_temporaries();
    ASSERT_FALSE(failed_anywhere());
  }
  Context weir{MPI_COMM_WORLD};
  auto opened = create(weir);
  expect_still_works(*opened);
}

TEST_F(WrongUse, of_different_plans_when_opening_is_told_by_all_ranks) {
  if (ranks() == 1) GTEST_SKIP() << "one rank cannot differ";
  Context weir{MPI_COMM_WORLD, {{"plan.mode", "aggregate"}}};
  auto opened = create(weir);
  auto one = opened->declare(block());
  auto two = opened->declare({{static_cast<std::uint64_t>(rank()) * 7, 7, 0, 1}});
  ASSERT_EQ(same(one), Code::ok);
  ASSERT_EQ(same(two), Code::ok);
  const Bytes hundred(100), seven(7);
  for (const bool first : {true, false}) {  // then its buffers are ready, and opening needs no agreement
    auto warm = weir.create(file("warm"), first ? one->plan() : two->plan());
    auto step = warm->step();
    EXPECT_EQ(step->write(0, first ? hundred : seven).message(), "");
    EXPECT_EQ(same(warm->close(*step)), Code::ok);
  }
  {
    auto later = weir.create(file("later"), last() ? one->plan() : two->plan());
    ASSERT_EQ(same(later), Code::ok);
    auto step = later->step();
    EXPECT_EQ(step->write(0, last() ? hundred : seven).message(), "");
    expect_code(step->finish(), Code::mismatch, "same order");
    expect_code(weir.create(file("x")), Code::mismatch, "make a new context");
    expect_code(opened->close(), Code::mismatch, "make a new context");
    expect_code(later->close(), Code::mismatch, "make a new context");
  }
  expect_no_temporaries();
}

TEST_F(WrongUse, of_a_name_when_opening_with_a_plan_is_told_when_the_step_is_finished) {
  for (const char* mode : {"aggregate", "direct"}) {
    Context weir{MPI_COMM_WORLD, {{"plan.mode", mode}}};
    auto opened = weir.create(file("data"));
    auto written = opened->declare(block());
    ASSERT_EQ(same(written), Code::ok);
    const Bytes data(100, 'x');
    Bytes back(100);
    EXPECT_EQ(written->write(0, data).message(), "");
    EXPECT_EQ(same(opened->close(*written)), Code::ok);
    auto reading = weir.open(file("data"));
    auto read = reading->declare(block());
    EXPECT_EQ(read->read(0, back).message(), "");
    EXPECT_EQ(same(reading->close(*read)), Code::ok);
    const auto attempt = [&](Result<File> file, bool write) {
      if (!file) return file.status();
      auto step = file->step();
      EXPECT_EQ((write ? step->write(0, data) : step->read(0, back)).message(), "");
      const Status finished = step->finish();
      EXPECT_EQ(file->close().ok(), finished.ok() || !write);
      return finished;
    };
    expect_code(attempt(weir.open(file("absent"), read->plan()), false), Code::not_found, "check the name");
    expect_code(attempt(weir.create(file("no/such/directory"), written->plan()), true), Code::not_found, "check the name");
    expect_code(attempt(weir.create("", written->plan()), true), Code::invalid, "without a name");
    expect_code(attempt(weir.create(file("data"), written->plan(), last() ? Settings{{"plan.mode", "both"}} : Settings{}), true),
                Code::settings, "direct, aggregate");
    EXPECT_EQ(same(attempt(weir.open(file("data"), read->plan()), false)), Code::ok);
    EXPECT_TRUE(back == data);
    EXPECT_EQ(same(attempt(weir.create(file("data"), written->plan()), true)), Code::ok);
    auto unread = weir.open(file("absent"), read->plan());
    if (unread) expect_code(unread->close(), Code::not_found, "check the name");
    expect_no_temporaries();
    ASSERT_FALSE(failed_anywhere());
  }
}

TEST_F(WrongUse, of_close_with_a_step_leaves_what_was_there) {
  prepare(file("data"), pattern_file(1, 10));
  Context weir{MPI_COMM_WORLD};
  auto opened = create(weir), another = weir.create(file("another"));
  auto step = opened->declare(block());
  ASSERT_EQ(same(step), Code::ok);
  expect_code(another->close(*step), Code::invalid, "pass a step of this file");
  EXPECT_EQ(same(another->close()), Code::ok);
  const Bytes data(100);
  if (!last()) {
    EXPECT_EQ(step->write(0, data).message(), "");
  }
  expect_code(opened->close(*step), Code::invalid, "was declared and not written");
  expect_contents(file("data"), pattern_file(1, 10));
  expect_no_temporaries();
  auto again = create(weir);
  expect_still_works(*again);
}

TEST_F(WrongUse, of_a_closed_file_is_refused) {
  Context weir{MPI_COMM_WORLD};
  auto opened = create(weir);
  auto step = opened->declare(block());
  const Plan plan = step->plan();
  const Bytes data(100, 'x');
  EXPECT_EQ(step->write(0, data).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  EXPECT_EQ(same(opened->close()), Code::ok);
  expect_code(opened->close(), Code::invalid, "open it again");
  expect_code(opened->sync(), Code::invalid, "open it again");
  expect_code(opened->declare(block()), Code::invalid, "open it again");
  expect_code(opened->step(plan), Code::invalid, "open it again");
  expect_code(step->write(0, data), Code::invalid, "open it again");
  expect_code(step->finish(), Code::invalid, "open it again");
}

TEST_F(WrongUse, of_names_is_told_by_all_ranks) {
  Context weir{MPI_COMM_WORLD};
  for (const char* kind : {"posix", "memory"}) {
    const Settings settings{{"storage.kind", kind}};
    expect_code(weir.create("", settings), Code::invalid, "without a name");
    expect_code(weir.open("", settings), Code::invalid, "without a name");
    expect_code(weir.update("", settings), Code::invalid, "without a name");
  }
  expect_code(weir.create(directory()), Code::exists, "name a file in this directory");
  expect_code(weir.open(directory()), Code::exists, "name a file in this directory");
  expect_code(weir.update(directory()), Code::exists, "name a file in this directory");
  expect_code(weir.open(file("absent")), Code::not_found, "check the name");
  expect_code(weir.update(file("absent")), Code::not_found, "check the name");
  expect_code(weir.create(file("no/such/directory")), Code::not_found, "check the name");
  expect_code(weir.create(file(std::string(300, 'x'))), Code::invalid, "shorten");
  expect_code(weir.load_plan(file("absent")), Code::not_found, "absent");
  EXPECT_TRUE(std::filesystem::is_directory(directory()));
}

TEST_F(WrongUse, of_a_machine_that_is_not_this_one_is_told_by_all_ranks) {
  const Settings nowhere{{"machine.description", "nowhere"}};
  expect_code(Context::make(MPI_COMM_WORLD, nowhere), Code::invalid, "nowhere");
  const Settings small{{"machine.description", "flat 1"}, {"machine.ranks_per_node", "1"}};
  if (ranks() > 1) expect_code(Context::make(MPI_COMM_WORLD, small), Code::settings, "it has 1 node, the job");
  const Settings mine{{"machine.description", last() ? "flat 64 link 1GBps" : "flat 64 link 2GBps"}};
  if (ranks() > 1) expect_code(Context::make(MPI_COMM_WORLD, mine), Code::mismatch, "different machines");
}

TEST_F(WrongUse, of_settings_is_told_by_all_ranks_even_when_one_has_them) {
  Context weir{MPI_COMM_WORLD};
  const std::pair<Settings, const char*> wrong[] = {{{{"plan.bufers", "3"}}, "did you mean 'plan.buffers'"},
                                                    {{{"plan.buffers", "0"}}, "allowed: a whole number from 1 to 16"},
                                                    {{{"plan.mode", "both"}}, "direct, aggregate"},
                                                    {{{"plan.memory", "much"}}, "64KiB"},
                                                    {{{"storage.replace", "perhaps"}}, "yes or no"}};
  for (const auto& [settings, words] : wrong) {
    expect_code(weir.create(file("data"), settings), Code::settings, words);
    expect_code(weir.create(file("data"), last() ? settings : Settings{}), Code::settings, words);
    expect_code(Context::make(MPI_COMM_WORLD, settings), Code::settings);
    expect_code(Context::make(MPI_COMM_WORLD, last() ? settings : Settings{}), Code::settings);
    EXPECT_THROW((Context{MPI_COMM_WORLD, settings}), Error);
  }
  expect_code(weir.create(file("data"), {{"storage.fault", "op=write error=EWRONG"}}), Code::settings, "names no errno");
  expect_no_temporaries();
  if (last()) setenv("WEIR_PLAN_BUFFERS", "many", 1);
  auto made = Context::make(MPI_COMM_WORLD);
  unsetenv("WEIR_PLAN_BUFFERS");
  expect_code(made, Code::settings, last() ? "from WEIR_PLAN_BUFFERS" : "WEIR_* must be the same on all ranks");
  expect_code(Context::make(MPI_COMM_NULL), Code::invalid, "pass a communicator");
}

TEST_F(WrongUse, of_settings_on_one_rank_leaves_what_is_no_plain_file_alone) {
  // As root, Weir could remove a device: it must not. A pipe stands for it.
  if (rank() == 0) {
    ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  }
  const int reader = rank() == 0 ? open(file("pipe").c_str(), O_RDWR) : -1;  // else opening it for writing would wait
  MPI_Barrier(MPI_COMM_WORLD);
  Context weir{MPI_COMM_WORLD};
  if (ranks() > 1) expect_code(weir.create(file("pipe"), last() ? Settings{{"plan.bufers", "3"}} : Settings{}), Code::settings);
  EXPECT_TRUE(std::filesystem::is_fifo(file("pipe")));
  if (rank() == 0) close(reader);
}

TEST_F(WrongUse, of_an_existing_file_that_is_not_replaced_does_not_remove_it) {
  prepare(file("data"), pattern_file(1, 50));
  Context weir{MPI_COMM_WORLD};
  Settings settings{{"storage.replace", "no"}};
  if (last() && ranks() > 1) settings["plan.bufers"] = "3";
  if (ranks() > 1) expect_code(weir.create(file("data"), settings), Code::settings);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::exists(file("data")));
}

}  // namespace
}  // namespace weir::testing

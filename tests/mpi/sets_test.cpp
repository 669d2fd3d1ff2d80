#include "fault/harness.hpp"

// Sets of sub-files: what they promise, what is refused, and what faults leave behind.
namespace weir::testing {
namespace {

class Sets : public FaultWorld, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    FaultWorld::SetUp();
    Watchdog::watch(::testing::UnitTest::GetInstance()->current_test_info()->name(), 60);
  }
  static Context make() { return Context{MPI_COMM_WORLD, {{"machine.ranks_per_node", "2"}}}; }
  /// As the parameter says: "rank", "node", "nodes:2".
  static Settings settings(const std::string& mode = "aggregate") {
    return {{"plan.files", GetParam()}, {"plan.mode", mode}, {"plan.buffer_size", "4096"}, {"exchange.chunk", "4096"}};
  }
  [[nodiscard]] int files() const {
    const std::string way = GetParam();
    const int nodes = (ranks() + 1) / 2;
    return way == "rank" ? ranks() : way == "node" ? nodes : (nodes + 1) / 2;
  }
  [[nodiscard]] Part part() const { return Part::interleaved(rank(), ranks(), 100, 60); }

  /// Names in the directory, on all ranks.
  [[nodiscard]] std::vector<std::string> names() const {
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{directory()}) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    MPI_Barrier(MPI_COMM_WORLD);
    return found;
  }
  /// The sub-files of the only set there.
  [[nodiscard]] std::vector<std::string> sub_files() const {
    std::vector<std::string> found;
    for (const std::string& name : names())
      if (name.starts_with("data.")) found.push_back(file(name));
    return found;
  }

  void write(Context& weir, const Part& what, std::uint64_t seed, const Settings& given) {
    auto opened = weir.create(file("data"), given);
    ASSERT_EQ(same(opened), Code::ok) << opened.status().message();
    auto step = opened->declare(what.declaration());
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    const auto data = what.all_data(seed);
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
    EXPECT_EQ(opened->close().message(), "");
  }
  /// What reading gives, which is right when it is success.
  Status read(Context& weir, const Part& what, std::uint64_t seed, const Settings& given = {}) {
    auto opened = weir.open(file("data"), given);
    if (same(opened) != Code::ok) return opened.status();
    auto step = opened->declare(what.declaration());
    if (same(step) != Code::ok) return step.status();
    const auto expected = what.all_data(seed);
    std::vector<Bytes> data;
    for (const Bytes& variable : expected) data.emplace_back(variable.size(), 0);
    EXPECT_EQ(take(*step, data).message(), "");
    const Status status = step->finish();
    if (same(status) == Code::ok) {
      EXPECT_TRUE(data == expected);
    }
    EXPECT_EQ(opened->close().message(), "");
    return status;
  }
  template <class Change>
  void on_rank_0(Change&& change) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) change();
    MPI_Barrier(MPI_COMM_WORLD);
  }
};

TEST_P(Sets, are_an_index_and_as_many_sub_files_as_asked_for) {
  Context weir = make();
  for (const char* mode : {"aggregate", "direct", "auto"}) {
    write(weir, part(), 3, settings(mode));
    EXPECT_EQ(names().size(), static_cast<std::size_t>(files()) + 1);
    EXPECT_EQ(sub_files().size(), static_cast<std::size_t>(files()));
    for (const char* reading : {"aggregate", "direct", "auto"})
      EXPECT_EQ(read(weir, part(), 3, {{"plan.mode", reading}}).message(), "");
  }
}

TEST_P(Sets, take_no_room_for_holes_or_for_other_ranks_data) {
  Context weir = make();
  Part far;
  far.variables.push_back({{(std::uint64_t{1} << 40) * static_cast<std::uint64_t>(rank()), 1000, 1 << 20, 4}});
  write(weir, far, 3, settings());
  std::uint64_t total = 0;
  for (const std::string& name : sub_files()) total += std::filesystem::file_size(name);
  EXPECT_LE(total, 4000u * static_cast<unsigned>(ranks()) + 32u * static_cast<unsigned>(files()));
  EXPECT_EQ(read(weir, far, 3).message(), "");
}

TEST_P(Sets, are_explained_and_their_plans_can_be_kept) {
  Context weir = make();
  auto opened = weir.create(file("data"), settings());
  auto step = opened->declare(part().declaration());
  ASSERT_EQ(same(step), Code::ok) << step.status().message();
  const std::string text = step->plan().explain();
  EXPECT_NE(text.find(fmt::format("{} sub-file", files())), std::string::npos) << text;
  EXPECT_NE(text.find("sub-file 0: rank"), std::string::npos) << text;
  EXPECT_NE(step->plan().text().find(fmt::format("files {}\n", files())), std::string::npos) << step->plan().text();
  const auto data = part().all_data(5);
  EXPECT_EQ(give(*step, data).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  EXPECT_EQ(opened->close().message(), "");
  EXPECT_EQ(same(step->plan().save(file("plan"))), Code::ok);

  auto loaded = weir.load_plan(file("plan"));
  ASSERT_EQ(same(loaded), Code::ok) << loaded.status().message();
  EXPECT_EQ(loaded->hash(), step->plan().hash());
  auto planned = weir.create(file("data"), *loaded, settings());
  ASSERT_EQ(same(planned), Code::ok) << planned.status().message();
  auto again = planned->step();
  ASSERT_EQ(same(again), Code::ok) << again.status().message();
  const auto other = part().all_data(6);
  EXPECT_EQ(give(*again, other).message(), "");
  EXPECT_EQ(again->finish().message(), "");
  EXPECT_EQ(planned->close().message(), "");
  EXPECT_EQ(read(weir, part(), 6).message(), "");

  expect_code(weir.create(file("plain"), *loaded), Code::invalid, "other sub-files");
  auto shared = weir.create(file("plain"), {{"plan.mode", "aggregate"}});
  auto plain = shared->declare(part().declaration());
  ASSERT_EQ(same(plain), Code::ok);
  EXPECT_NE(plain->plan().hash(), loaded->hash());
  expect_code(shared->step(*loaded), Code::invalid, "other sub-files");
  expect_code(weir.create(file("data"), plain->plan(), settings()), Code::invalid, "other sub-files");
  give(*plain, data).value();
  EXPECT_EQ(plain->finish().message(), "");
  EXPECT_EQ(shared->close().message(), "");
  EXPECT_EQ(read(weir, part(), 6).message(), "") << "a refused create leaves the set as it was";
  EXPECT_EQ(sub_files().size(), static_cast<std::size_t>(files()));
}

TEST_P(Sets, hold_several_steps_and_the_one_finished_last_wins) {
  Context weir = make();
  const Part what = part();
  auto opened = weir.create(file("data"), settings());
  auto first = opened->declare(what.declaration());
  auto second = opened->step(first->plan(), what.file_size);
  auto unused = opened->step(first->plan(), 5 * what.file_size);
  Part cover;  // the first bytes of the first step once more
  cover.variables.push_back({{static_cast<std::uint64_t>(rank()) * 10, 10, 0, 1}});
  auto third = opened->declare(cover.declaration());
  ASSERT_EQ(same(unused), Code::ok);
  ASSERT_EQ(same(third), Code::ok);
  const auto old = what.all_data(1), data = what.all_data(2), covering = cover.all_data(3);
  Part moved = what;
  for (auto& runs : moved.variables)
    for (Run& run : runs) run.offset += what.file_size;
  const auto later = moved.all_data(2);
  const auto pass = [](Step& step, const std::vector<Bytes>& bytes) {
    EXPECT_EQ(give(step, bytes).message(), "");
    EXPECT_EQ(step.finish().message(), "");
  };
  pass(*third, covering);
  pass(*first, old);
  pass(*second, later);
  pass(*first, data);
  pass(*third, covering);
  EXPECT_EQ(opened->close().message(), "");
  EXPECT_EQ(read(weir, moved, 2).message(), "");
  EXPECT_EQ(read(weir, cover, 3).message(), "");
  Part rest;
  const std::uint64_t from = static_cast<std::uint64_t>(ranks()) * 10;
  rest.variables.push_back({{rank() == 0 ? from : 0, rank() == 0 ? what.file_size - from : 0, 0, 1}});
  EXPECT_EQ(read(weir, rest, 2).message(), "");
  Part nobody = what;
  for (auto& runs : nobody.variables)
    for (Run& run : runs) run.offset += 5 * what.file_size;
  EXPECT_EQ(name(read(weir, nobody, 2).code()), std::string{"end_of_file"}) << "it was never finished";

  auto reading = weir.open(file("data"));
  auto here = reading->declare(cover.declaration());
  ASSERT_EQ(same(here), Code::ok);
  auto there = reading->step(here->plan(), what.file_size);
  ASSERT_EQ(same(there), Code::ok) << there.status().message();
  Part moved_cover = cover;
  moved_cover.variables[0][0].offset += what.file_size;
  std::vector<Bytes> found{Bytes(10, 0)};
  EXPECT_EQ(take(*there, found).message(), "");
  EXPECT_EQ(there->finish().message(), "");
  EXPECT_EQ(found, moved_cover.all_data(2));
  expect_code(reading->step(here->plan(), 100 * what.file_size), Code::end_of_file, "nobody wrote");
  EXPECT_EQ(reading->close().message(), "");
}

TEST_P(Sets, replace_one_another_and_plain_files_without_a_trace) {
  Context weir = make();
  write(weir, part(), 1, settings());
  const auto before = sub_files();
  write(weir, part(), 2, settings());
  EXPECT_EQ(sub_files().size(), before.size());
  EXPECT_NE(sub_files(), before);
  EXPECT_EQ(read(weir, part(), 2).message(), "");
  for (const char* replace : {"yes", "no"}) {
    write(weir, part(), 3, {{"storage.replace", replace}});
    EXPECT_EQ(names(), std::vector<std::string>{"data"});
    expect_contents(file("data"), pattern_file(3, part().file_size));
    write(weir, part(), 4, settings());
    EXPECT_EQ(names().size(), static_cast<std::size_t>(files()) + 1);
    EXPECT_EQ(read(weir, part(), 4).message(), "");
  }
}

TEST_P(Sets, may_be_moved_and_found_through_links) {
  Context weir = make();
  write(weir, part(), 1, settings());
  on_rank_0([&] {
    std::filesystem::create_directory(file("there"));
    std::filesystem::rename(file("data"), file("there/renamed"));
    for (const auto& entry : std::filesystem::directory_iterator{directory()})
      if (entry.is_regular_file())
        std::filesystem::rename(entry.path(), file("there/" + entry.path().filename().string()));
    std::filesystem::create_symlink(file("there/renamed"), file("data"));
  });
  EXPECT_EQ(read(weir, part(), 1).message(), "");
  on_rank_0([&] { std::filesystem::copy_file(file("there/renamed"), file("there/data")); });
  write(weir, part(), 2, {});
  on_rank_0([&] {
    std::filesystem::remove(file("data"));
    std::filesystem::create_symlink(file("there/data"), file("data"));
  });
  EXPECT_EQ(read(weir, part(), 1).message(), "") << "what replaced a copy of the index took the sub-files away";
}

TEST_P(Sets, of_one_layout_are_read_with_one_plan) {
  Context weir = make();
  write(weir, part(), 1, settings());
  auto first = weir.open(file("data"));
  auto step = first->declare(part().declaration());
  ASSERT_EQ(same(step), Code::ok) << step.status().message();
  const Plan plan = step->plan();
  EXPECT_NE(plan.explain().find(fmt::format("{} sub-file", files())), std::string::npos) << plan.explain();
  write(weir, part(), 2, settings());
  auto second = weir.open(file("data"), plan);
  ASSERT_EQ(same(second), Code::ok) << second.status().message();
  auto again = second->step();
  ASSERT_EQ(same(again), Code::ok) << again.status().message();
  const auto expected = part().all_data(2);
  std::vector<Bytes> data;
  for (const Bytes& variable : expected) data.emplace_back(variable.size(), 0);
  EXPECT_EQ(take(*again, data).message(), "");
  EXPECT_EQ(again->finish().message(), "");
  EXPECT_EQ(data, expected);
  write(weir, Part::blocks(rank(), ranks()), 3, settings());
  expect_code(weir.open(file("data"), plan), Code::invalid, "other sub-files");
}

TEST_P(Sets, that_are_damaged_are_told_by_all_ranks) {
  Context weir = make();
  write(weir, part(), 1, settings());
  const std::string victim = sub_files().back();
  const Bytes whole = contents(victim), index = contents(file("data"));
  Bytes longer = whole, other = whole, spoilt = index, shorter = index;
  longer.push_back(0);
  other[other.size() - 20] ^= 1;
  spoilt[spoilt.size() / 2] ^= 1;
  shorter.resize(shorter.size() - 1);
  const auto expect = [&](Code code, const std::string& words) {
    const Status status = read(weir, part(), 1, {{"plan.mode", "aggregate"}});
    EXPECT_EQ(name(status.code()), std::string{name(code)}) << status.message();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    prepare(victim, whole);
    prepare(file("data"), index);
  };
  const std::string victim_name = std::filesystem::path{victim}.filename();
  on_rank_0([&] { std::filesystem::remove(victim); });
  expect(Code::not_found, victim_name);
  prepare(victim, Bytes(whole.begin(), whole.end() - 1));
  expect(Code::corrupt, victim_name);
  prepare(victim, {});
  expect(Code::corrupt, victim_name);
  prepare(victim, longer);
  expect(Code::corrupt, victim_name);
  prepare(victim, other);
  expect(Code::corrupt, "not the sub-file of this set");
  prepare(file("data"), spoilt);
  expect(Code::corrupt, "index");
  prepare(file("data"), shorter);
  expect(Code::corrupt, "index");
  EXPECT_EQ(read(weir, part(), 1).message(), "");
}

TEST_P(Sets, cannot_be_updated_or_be_where_ranks_share_nothing) {
  Context weir = make();
  write(weir, part(), 1, settings());
  expect_code(weir.update(file("data")), Code::unsupported, "set of sub-files");
  Settings memory = settings();
  memory["storage.kind"] = "memory";
  expect_code(weir.create(file("other"), memory), Code::unsupported, "memory");
  expect_code(weir.create("/dev/null", settings()), Code::exists, "plain file");
  expect_code(weir.create(file("absent/data"), settings()), Code::not_found, "absent");
  EXPECT_EQ(read(weir, part(), 1).message(), "");
  Settings null = settings();
  null["storage.kind"] = "null";
  auto nowhere = weir.create(file("nowhere"), null);
  ASSERT_EQ(same(nowhere), Code::ok) << nowhere.status().message();
  auto step = nowhere->declare(part().declaration());
  const auto data = part().all_data(1);
  EXPECT_EQ(give(*step, data).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  EXPECT_EQ(same(nowhere->close()), Code::ok);
}

TEST_P(Sets, want_the_same_files_and_variables_on_every_rank) {
  Context weir = make();
  Settings differing = settings();
  if (rank() == ranks() - 1) differing["plan.files"] = "shared";
  if (ranks() > 1) expect_code(weir.create(file("data"), differing), Code::mismatch, "plan.files");
  EXPECT_EQ(names(), std::vector<std::string>{});
  auto opened = weir.create(file("data"), settings());
  const bool last = rank() == ranks() - 1;
  Declaration more = part().declaration(), elsewhere, wrong{{~std::uint64_t{0}, last ? 5u : 0u, 0, 1}};
  if (last) more.variable(Run{5000, 1, 0, 1});
  if (ranks() > 1) expect_code(opened->declare(more), Code::mismatch, "declare the same variables on every rank");
  elsewhere.variable(elsewhere.decomposition(std::vector<Run>{{0, 1, 0, 1}}), last ? 8 : 0);
  if (ranks() > 1) expect_code(opened->declare(elsewhere), Code::mismatch, "place");
  expect_code(opened->declare(wrong), Code::invalid, "2^63");
  auto step = opened->declare(part().declaration());
  const auto data = part().all_data(1);
  EXPECT_EQ(give(*step, data).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  if (ranks() > 1)
    for (int turn = 0; turn < 2; ++turn)
      expect_code((rank() == 0) == (turn == 0) ? opened->close() : opened->sync(), Code::mismatch, "same order");
  EXPECT_EQ(give(*step, data).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  EXPECT_EQ(same(opened->close()), Code::ok);
  EXPECT_EQ(read(weir, part(), 1).message(), "");
}

TEST_P(Sets, that_are_not_closed_leave_nothing) {
  Context weir = make();
  write(weir, part(), 1, settings());
  const auto before = names();
  {
    ::testing::internal::CaptureStderr();
    try {
      auto opened = weir.create(file("data"), settings());
      auto step = opened->declare(part().declaration());
      throw 1;
    } catch (int) {
    }
    (void)::testing::internal::GetCapturedStderr();
  }
  EXPECT_EQ(names(), before);
  EXPECT_EQ(read(weir, part(), 1).message(), "");
}

/// Every operation fails at its n-th call, on one rank or all: then the old set is there, whole, and nothing else.
TEST_P(Sets, survive_faults_of_their_successors) {
  Context weir = make();
  const Part what = part();
  write(weir, what, 1, settings());
  auto before = names();
  for (const std::string op : {"open", "write", "sync", "close", "rename"})
    for (int r = -1; r < ranks(); ++r)
      for (int n = 0; n < 200; ++n) {
        const std::string rule =
            fmt::format("op={} error=EIO after={}{}", op, n, r < 0 ? std::string{} : fmt::format(" rank={}", r));
        SCOPED_TRACE(rule);
        Watchdog::watch(rule);
        Settings given = settings(n % 2 == 0 ? "aggregate" : "direct");
        given["storage.fault"] = rule;
        given["storage.durability"] = "durable";
        const std::size_t descriptors = open_descriptors();
        bool failed = false;
        auto opened = weir.create(file("data"), given);
        if (same(opened) != Code::ok) {
          failed = true;
        } else {
          auto step = opened->declare(what.declaration());
          ASSERT_EQ(same(step), Code::ok) << step.status().message();
          const auto data = what.all_data(2);
          EXPECT_EQ(give(*step, data).message(), "");
          const Status finished = step->finish(), closed = (same(finished), opened->close());
          failed = same(closed) != Code::ok;
          EXPECT_TRUE(failed || finished.ok());
          if (failed) {
            EXPECT_EQ(name(closed.code()), std::string{"io"}) << closed.message();
          }
        }
        EXPECT_EQ(open_descriptors(), descriptors);
        EXPECT_TRUE(failed || n > 0 || r > 0) << "rank 0 does all of these at least once";
        if (failed) {
          EXPECT_EQ(names(), before);
        }
        EXPECT_EQ(read(weir, what, failed ? 1 : 2).message(), "");
        if (failed_anywhere()) FAIL() << rule;
        if (!failed) {
          write(weir, what, 1, settings());
          before = names();
          break;
        }
      }
}

TEST_P(Sets, are_whole_when_a_step_that_failed_is_repeated) {
  Context weir = make();
  for (const char* mode : {"aggregate", "direct"}) {
    Settings given = settings(mode);
    given["storage.fault"] = "op=write error=ENOSPC times=1 rank=0";
    auto opened = weir.create(file("data"), given);
    auto step = opened->declare(part().declaration());
    const auto data = part().all_data(7);
    EXPECT_EQ(give(*step, data).message(), "");
    expect_code(step->finish(), Code::no_space, "data.");
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
    EXPECT_EQ(opened->close().message(), "");
    EXPECT_EQ(read(weir, part(), 7).message(), "");
  }
}

TEST_P(Sets, tell_faults_of_reading_by_all_ranks) {
  Context weir = make();
  write(weir, part(), 1, settings());
  for (const std::string op : {"open", "read"})
    for (int r = -1; r < ranks(); ++r)
      for (int n = 0; n < 100; ++n) {
        const std::string rule =
            fmt::format("op={} error=EIO after={}{}", op, n, r < 0 ? std::string{} : fmt::format(" rank={}", r));
        Watchdog::watch(rule);
        const Status status =
            read(weir, part(), 1, {{"storage.fault", rule}, {"plan.mode", n % 2 == 0 ? "aggregate" : "direct"}});
        if (!status.ok()) {
          EXPECT_EQ(name(status.code()), std::string{"io"}) << rule << " " << status.message();
        }
        if (failed_anywhere()) FAIL() << rule;
        if (status.ok() && n % 2 == 1) break;
      }
  EXPECT_EQ(read(weir, part(), 1, {{"storage.fault", "op=read short=3"}}).message(), "");
}

INSTANTIATE_TEST_SUITE_P(files, Sets, ::testing::Values("rank", "node", "nodes:2"));

}  // namespace
}  // namespace weir::testing

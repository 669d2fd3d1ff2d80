#include <chrono>
#include <optional>
#include <thread>

#include "engine/context.hpp"
#include "engine/planning.hpp"
#include "fault/harness.hpp"

// Steps, files and plans in unusual order, and what reports and plans promise.
namespace weir::testing {
namespace {

constexpr std::uint64_t mib = 1 << 20;

class Steps : public FaultWorld, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    FaultWorld::SetUp();
    Watchdog::watch(::testing::UnitTest::GetInstance()->current_test_info()->name(), 60);
  }
  static Settings small() {
    return {{"plan.mode", "aggregate"}, {"plan.buffer_size", "4096"}, {"plan.aggregators", "2"}, {"exchange.chunk", "4096"}};
  }
  static Context make() { return Context{MPI_COMM_WORLD, {{"machine.ranks_per_node", GetParam()}}}; }
  [[nodiscard]] Part part() const { return Part::interleaved(rank(), ranks(), 100, 60); }
};

TEST_P(Steps, of_one_file_may_be_interleaved) {
  Context weir = make();
  auto opened = weir.create(file("data"), small());
  const Part first = part(), second = Part::blocks(rank(), ranks(), 700, 2);
  Part moved = second;
  for (auto& runs : moved.variables)
    for (Run& run : runs) run.offset += first.file_size;
  auto a = opened->declare(first.declaration());
  auto b = opened->declare(moved.declaration());
  ASSERT_EQ(same(a), Code::ok) << a.status().message();
  ASSERT_EQ(same(b), Code::ok) << b.status().message();
  const auto data_a = first.all_data(4), data_b = moved.all_data(4);
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(b->write(1, data_b[1]).message(), "");
    EXPECT_EQ(a->write(0, data_a[0]).message(), "");
    EXPECT_EQ(b->write(0, data_b[0]).message(), "");
    EXPECT_EQ(a->write(1, data_a[1]).message(), "");
    EXPECT_EQ((pass == 0 ? a : b)->start().message(), "");
    EXPECT_EQ((pass == 0 ? b : a)->start().message(), "");
    EXPECT_EQ((pass == 2 ? a : b)->wait().message(), "");
    EXPECT_EQ((pass == 2 ? b : a)->wait().message(), "");
  }
  EXPECT_EQ(opened->close().message(), "");
  expect_contents(file("data"), pattern_file(4, first.file_size + second.file_size));
}

TEST_P(Steps, report_what_meeting_costs_apart_from_waiting_for_a_late_rank) {
  Context weir = make();
  auto opened = weir.create(file("data"), {{"plan.mode", "direct"}});
  auto step = opened->declare(part().declaration());
  ASSERT_EQ(same(step), Code::ok) << step.status().message();
  const auto data = part().all_data(4);
  for (int v = 0; v < 2; ++v) EXPECT_EQ(step->write(v, data[static_cast<std::size_t>(v)]).message(), "");
  constexpr int late = 0;
  constexpr std::chrono::milliseconds by{200};
  if (rank() == late) std::this_thread::sleep_for(by);
  EXPECT_EQ(step->finish().message(), "");
  const Report report = step->report();
  EXPECT_LE(report.leaving_s, report.meeting_s);
  EXPECT_LE(report.meeting_s, report.wait_s);
  if (rank() != late) {
    EXPECT_GT(report.meeting_s, 0.1);
    EXPECT_LT(report.leaving_s, report.meeting_s / 2);
  }
  EXPECT_EQ(opened->close().message(), "");
}

TEST_P(Steps, can_be_finished_by_close_after_others_were_started) {
  Context weir = make();
  for (const bool reuse : {false, true}) {
    auto opened = weir.create(file("data"), small());
    auto one = opened->declare(part().declaration());
    ASSERT_EQ(same(one), Code::ok);
    auto two = opened->step(one->plan(), part().file_size);
    ASSERT_EQ(same(two), Code::ok);
    const auto data = part().all_data(6);
    EXPECT_EQ(give(*one, data).message(), "");
    EXPECT_EQ(one->start().message(), "");
    EXPECT_EQ(give(*two, data).message(), "");
    const Status closed = opened->close(*two);
    EXPECT_EQ(closed.message(), "");
    EXPECT_EQ(closed.bytes(), part().file_size);
    EXPECT_EQ(one->wait().message(), "");
    Bytes expected = pattern_file(6, part().file_size);
    expected.insert(expected.end(), expected.begin(), expected.end());
    expect_contents(file("data"), expected);
    if (!reuse) continue;
    auto later = weir.create(file("later"), one->plan(), small());
    auto step = later->step();
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(later->close(*step).message(), "");
    expect_contents(file("later"), pattern_file(6, part().file_size));
  }
}

// Run a second time where sockets take little at once and the MPI library keeps the rest: then a rank that has sent
// everything must not just sleep.
TEST_P(Steps, go_on_when_sockets_are_full) {
  Context weir = make();
  const Part part = Part::blocks(rank(), ranks(), 20'000, 4);
  const auto data = part.all_data(5);
  std::optional<Plan> plan;
  for (int pass = 0; pass < 400; ++pass) {
    auto opened = plan ? weir.create(file("data"), *plan)
                       : weir.create(file("data"), {{"plan.mode", "aggregate"}, {"plan.aggregators", "4"}});
    ASSERT_EQ(same(opened), Code::ok) << opened.status().message();
    auto step = plan ? opened->step() : opened->declare(part.declaration());
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(opened->close(*step).message(), "");
    plan = step->plan();
  }
  expect_contents(file("data"), pattern_file(5, part.file_size));
}

TEST_P(Steps, may_be_declared_anew_by_some_ranks_and_known_to_others) {
  Context weir = make();
  auto opened = weir.create(file("data"), small());
  const std::uint64_t block = 100, n = static_cast<std::uint64_t>(ranks());
  for (const std::uint64_t last_at : {n - 1, n + 4, n - 1, n + 7}) {
    const std::uint64_t at = rank() == ranks() - 1 ? last_at : static_cast<std::uint64_t>(rank());
    Part part;
    part.variables.push_back({{at * block, block, 0, 1}});
    auto step = opened->declare(part.declaration());
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    const auto data = part.all_data(4);
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
  }
  EXPECT_EQ(opened->close().message(), "");
  Bytes expected = pattern_file(4, (n + 8) * block);
  const auto hole = [&](std::uint64_t from, std::uint64_t blocks) {
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(from * block), blocks * block, 0);
  };
  hole(n, 4);
  hole(n + 5, 2);
  expect_contents(file("data"), expected);
}

TEST_P(Steps, of_several_open_files_started_in_one_order_may_be_tested_in_others) {
  Context weir = make();
  std::vector<Result<File>> files;
  std::vector<Result<Step>> steps;
  std::vector<std::vector<Bytes>> data;
  constexpr int count = 4;
  for (int f = 0; f < count; ++f) {
    files.push_back(weir.create(file(fmt::format("data{}", f)), f == 3 ? Settings{{"plan.mode", "direct"}} : small()));
    ASSERT_EQ(same(files.back()), Code::ok) << files.back().status().message();
    steps.push_back(files.back()->declare(part().declaration()));
    ASSERT_EQ(same(steps.back()), Code::ok) << steps.back().status().message();
    data.push_back(part().all_data(static_cast<std::uint64_t>(f)));
  }
  for (int f = 0; f < count; ++f) {
    EXPECT_EQ(give(*steps[static_cast<std::size_t>(f)], data[static_cast<std::size_t>(f)]).message(), "");
    EXPECT_EQ(steps[static_cast<std::size_t>(f)]->start().message(), "");
  }
  // Every rank has its own order, and tests as often as it likes.
  for (int f = 0; f < count; ++f) {
    auto& step = steps[static_cast<std::size_t>((f + rank()) % count)];
    for (int tests = 0; tests < rank() * 3 && !step->test(); ++tests) std::this_thread::yield();
  }
  for (int f = 0; f < count; ++f) {
    auto& step = steps[static_cast<std::size_t>((count - f + rank()) % count)];
    while (!step->test()) std::this_thread::yield();
    EXPECT_EQ(step->wait().message(), "");
  }
  for (int f = 0; f < count; ++f) {
    EXPECT_EQ(files[static_cast<std::size_t>(f)]->close().message(), "");
    expect_contents(file(fmt::format("data{}", f)), pattern_file(static_cast<std::uint64_t>(f), part().file_size));
  }
}

TEST_P(Steps, that_were_started_are_completed_by_close) {
  Context weir = make();
  auto opened = weir.create(file("data"), small());
  auto step = opened->declare(part().declaration());
  const auto data = part().all_data(5);
  EXPECT_EQ(give(*step, data).message(), "");
  EXPECT_EQ(step->start().message(), "");
  EXPECT_EQ(opened->close().message(), "");
  expect_contents(file("data"), pattern_file(5, part().file_size));
}

TEST_P(Steps, can_be_used_for_three_passes) {
  Context weir = make();
  auto opened = weir.create(file("data"), small());
  auto step = opened->declare(part().declaration());
  for (const std::uint64_t seed : {6, 7, 8}) {
    const auto data = part().all_data(seed);
    EXPECT_EQ(give(*step, data).message(), "");
    const Status status = step->finish();
    EXPECT_EQ(status.message(), "");
    EXPECT_EQ(status.bytes(), part().file_size);
    EXPECT_EQ(step->report().bytes, part().bytes());
  }
  EXPECT_EQ(opened->close().message(), "");
  expect_contents(file("data"), pattern_file(8, part().file_size));
}

TEST_P(Steps, of_a_plan_go_to_another_file_and_to_another_place) {
  Context weir = make();
  auto opened = weir.create(file("data"), small());
  auto step = opened->declare(part().declaration());
  const Plan plan = step->plan();
  auto another = weir.create(file("another"), small());
  constexpr std::uint64_t shift = 12345;
  auto here = another->step(plan), there = another->step(plan, shift + part().file_size);
  ASSERT_EQ(same(here), Code::ok) << here.status().message();
  ASSERT_EQ(same(there), Code::ok) << there.status().message();
  const auto data = part().all_data(9);
  for (Result<Step>* each : {&step, &here, &there}) {
    EXPECT_EQ(give(**each, data).message(), "");
    EXPECT_EQ((*each)->finish().message(), "");
  }
  EXPECT_EQ(opened->close().message(), "");
  EXPECT_EQ(another->close().message(), "");
  const Bytes once = pattern_file(9, part().file_size);
  Bytes twice = once;
  twice.insert(twice.end(), shift, 0);
  twice.insert(twice.end(), once.begin(), once.end());
  expect_contents(file("data"), once);
  expect_contents(file("another"), twice);
}

TEST_P(Steps, that_reach_beyond_the_largest_file_by_their_shift_are_refused_on_all_ranks) {
  Context weir = make();
  auto opened = weir.create(file("data"), small());
  auto step = opened->declare(part().declaration());
  auto beyond = opened->step(step->plan(), (std::uint64_t{1} << 63) - 10);
  if (beyond) {
    const auto data = part().all_data(9);
    EXPECT_EQ(give(*beyond, data).message(), "");
    expect_code(beyond->finish(), Code::too_large);
    EXPECT_NE(same(opened->close()), Code::ok);
  } else {
    expect_code(beyond, Code::invalid, "2^63");
    EXPECT_EQ(same(opened->close()), Code::ok);
  }
}

TEST_P(Steps, hold_no_more_memory_than_planned_and_store_while_they_aggregate) {
  Context weir = make();
  const Part large = Part::interleaved(rank(), ranks(), 1000, 8000 / static_cast<std::uint64_t>(ranks()));
  const auto data = large.all_data(3);
  std::uint64_t beside = 0;
  for (const std::uint64_t memory : {64ul << 10, 1ul << 20}) {
    auto opened = weir.create(file("data"), {{"plan.mode", "aggregate"},
                                             {"plan.memory", std::to_string(memory)},
                                             {"plan.aggregators", "1"},
                                             {"plan.buffers", "2"},
                                             // Many small calls: a storage slow enough for others to run meanwhile.
                                             {"storage.fault", "op=write short=256"}});
    auto step = opened->declare(large.declaration());
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    // Whether another rank runs just while one buffer is stored is up to the machine: some pass must show it.
    for (int pass = 0; pass < (ranks() == 1 ? 1 : 20) && (pass == 0 || !any_rank(beside > 0)); ++pass) {
      EXPECT_EQ(give(*step, data).message(), "");
      EXPECT_EQ(step->finish().message(), "");
      const Report report = step->report();
      EXPECT_LE(report.buffer_bytes, report.storage_calls > 0 ? memory : 4 * mib);
      EXPECT_LE(report.stored_while_aggregating, report.stored_bytes);
      beside += report.stored_while_aggregating;
    }
    EXPECT_EQ(opened->close().message(), "");
  }
  expect_contents(file("data"), pattern_file(3, large.file_size));
  EXPECT_TRUE(any_rank(beside > 0) || ranks() == 1);
}

TEST_P(Steps, that_overlap_have_defined_contents) {
  for (const char* mode : {"aggregate", "direct", "auto"}) {
    Context weir = make();
    auto opened = weir.create(file("data"), {{"plan.mode", mode}, {"plan.buffer_size", "64"}});
    Declaration declaration;
    // All ranks write [0, 100); later variables write over earlier ones, later pieces over earlier ones.
    declaration.variable(Run{0, 100, 0, 1});
    const auto r = static_cast<std::uint64_t>(rank());
    declaration.variable(Run{200 + r * 50, 30, 0, 1});
    declaration.variable(Run{210 + r * 50, 10, 0, 1});
    declaration.variable(std::vector<Run>{{1000 + r * 50, 20, 0, 1}, {1010 + r * 50, 20, 0, 1}});
    auto step = opened->declare(declaration);
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    const auto me = static_cast<unsigned char>(10 + rank());
    const std::vector<Bytes> data{Bytes(100, me), Bytes(30, me), Bytes(10, 99), [&] {
                                    Bytes pieces(40, me);
                                    std::fill(pieces.begin() + 20, pieces.end(), 77);
                                    return pieces;
                                  }()};
    // The weaker rank comes last in time, and must not win by that.
    if (rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds{30});
    for (const int v : {3, 2, 0, 1}) EXPECT_EQ(step->write(v, data[static_cast<std::size_t>(v)]).message(), "");
    const Status status = step->finish();
    EXPECT_EQ(status.message(), "");
    EXPECT_EQ(opened->close().message(), "");
    Bytes expected(1000 + static_cast<std::size_t>(ranks()) * 50 - 20, 0);
    std::fill_n(expected.begin(), 100, static_cast<unsigned char>(10 + ranks() - 1));
    for (int k = 0; k < ranks(); ++k) {
      const auto at = expected.begin() + 50 * k;
      std::fill_n(at + 200, 30, static_cast<unsigned char>(10 + k));
      std::fill_n(at + 210, 10, 99);
      std::fill_n(at + 1000, 20, static_cast<unsigned char>(10 + k));
      std::fill_n(at + 1010, 20, 77);
    }
    SCOPED_TRACE(mode);
    expect_contents(file("data"), expected);
  }
}

TEST_P(Steps, in_memory_can_be_read_again_in_the_same_context) {
  Context weir = make();
  const Settings settings{{"storage.kind", "memory"}};
  const auto data = part().all_data(2);
  {
    auto opened = weir.create("kept", settings);
    auto step = opened->declare(part().declaration());
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
    EXPECT_EQ(opened->close().message(), "");
  }
  auto opened = weir.open("kept", settings);
  ASSERT_EQ(same(opened), Code::ok) << opened.status().message();
  auto step = opened->declare(part().declaration());
  std::vector<Bytes> back;
  for (const Bytes& variable : data) back.emplace_back(variable.size());
  EXPECT_EQ(take(*step, back).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  EXPECT_TRUE(back == data);
  EXPECT_EQ(opened->close().message(), "");
}

TEST_P(Steps, that_read_let_ranks_go_on_while_others_still_take_their_part) {
  Context weir = make();
  const Settings one{{"plan.mode", "aggregate"}, {"plan.aggregators", "1"}};
  const Part part = Part::interleaved(rank(), ranks(), 1000, 900 / static_cast<std::uint64_t>(ranks()));
  expect_works(weir, file("data"), part, one, 1);
  std::optional<Plan> reading, writing;
  for (std::uint64_t pass = 1; pass <= 40; ++pass) {
    const auto data = part.all_data(pass);
    std::vector<Bytes> back;
    for (const Bytes& variable : data) back.emplace_back(variable.size());
    auto old = reading ? weir.open(file("data"), *reading) : weir.open(file("data"), one);
    auto taken = reading ? old->step() : old->declare(part.declaration());
    ASSERT_EQ(take(*taken, back).message(), "");
    const Status status = old->close(*taken);
    ASSERT_EQ(status.message(), "");
    EXPECT_EQ(status.bytes(), part.file_size);
    reading = taken->plan();

    auto next = writing ? weir.create(file("data"), *writing) : weir.create(file("data"), one);
    auto given = writing ? next->step() : next->declare(part.declaration());
    const auto later = part.all_data(pass + 1);
    ASSERT_EQ(give(*given, later).message(), "");
    ASSERT_EQ(next->close(*given).message(), "");
    writing = given->plan();
    EXPECT_TRUE(back == data) << "pass " << pass;
  }
  expect_contents(file("data"), pattern_file(41, part.file_size));
}

class Plans : public Steps {};

TEST_P(Plans, are_equal_on_all_ranks_and_to_those_of_the_serial_planner) {
  Context weir = make();
  for (const char* mode : {"aggregate", "direct"}) {
    Settings settings = small();
    settings["plan.mode"] = mode;
    auto opened = weir.create(file("data"), settings);
    auto step = opened->declare(part().declaration());
    const Plan plan = step->plan();
    std::uint64_t least = plan.hash(), most = plan.hash();
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(least, most);
    std::vector<RankDeclaration> all;
    for (int r = 0; r < ranks(); ++r)
      all.push_back(*RankDeclaration::of(Part::interleaved(r, ranks(), 100, 60).declaration()));
    const SimpleRule rule;
    PlanRequest request;
    request.nodes = &plan.impl()->team->nodes();
    request.limits = PlanLimits::of(*ResolvedSettings::resolve(settings));
    request.model = &rule;
    request.storage.file_system = "any";
    request.machine = weir.impl()->machine.get();  // detected on several nodes
    request.trusts_figures = weir.impl()->trusts_figures;
    std::vector<RankPlan> serial = plan_all(all, request);
    // Traits of the real file system go into the plan: only what follows from them may differ.
    if (serial[0].layout.placement.alignment == plan.impl()->plan.layout.placement.alignment) {
      EXPECT_EQ(serial[static_cast<std::size_t>(rank())].layout.hash, plan.hash());
      EXPECT_EQ(plan_text(serial[0].layout, *request.nodes), plan.text());
    } else {
      ADD_FAILURE() << "the file system has another block than 4096: give it to the request";
    }
    EXPECT_EQ(opened->close().message(), "");
  }
}

TEST_P(Plans, that_are_damaged_are_refused_and_whole_ones_work) {
  Context weir = make();
  const std::string path = file("plan");
  auto opened = weir.create(file("data"), small());
  auto step = opened->declare(part().declaration());
  ASSERT_EQ(same(step->plan().save(path)), Code::ok);
  expect_code(step->plan().save(file("no/such/place")), Code::not_found, "no/such/place");
  const Bytes whole = contents(path);
  ASSERT_GT(whole.size(), 100u);
  for (std::size_t at = 0; at < whole.size(); at += at < 64 ? 7 : whole.size() / 40) {
    Bytes damaged = whole;
    damaged[at] ^= 0x40;
    prepare(path, damaged);
    expect_code(weir.load_plan(path), Code::corrupt, "save it again");
    damaged.resize(at);
    prepare(path, damaged);
    expect_code(weir.load_plan(path), Code::corrupt, "save it again");
    ASSERT_FALSE(failed_anywhere()) << "byte " << at;
  }
  prepare(path, whole);
  auto loaded = weir.load_plan(path);
  ASSERT_EQ(same(loaded), Code::ok) << loaded.status().message();
  EXPECT_EQ(loaded->hash(), step->plan().hash());
  auto again = opened->step(*loaded);
  ASSERT_EQ(same(again), Code::ok) << again.status().message();
  const auto data = part().all_data(3);
  EXPECT_EQ(give(*again, data).message(), "");
  EXPECT_EQ(again->finish().message(), "");
  EXPECT_EQ(opened->close().message(), "");
  expect_contents(file("data"), pattern_file(3, part().file_size));
}

INSTANTIATE_TEST_SUITE_P(Nodes, Steps, ::testing::Values("0", "2"));
INSTANTIATE_TEST_SUITE_P(Nodes, Plans, ::testing::Values("0", "2"));

}  // namespace
}  // namespace weir::testing

#include <execinfo.h>

#include <cstdlib>
#include <new>

#include "fault/harness.hpp"

// Allocations that fail, one after another, on one rank.
namespace {

struct Injection {
  bool armed = false;    ///< only calls into Weir count
  bool for_ever = false;
  long left = 0;         ///< allocations that are let through
  long fired = 0;
  void* stack[48] = {};  ///< of the last one that failed
  int depth = 0;
} injection;

void* allocate(std::size_t size) {
  if (injection.armed && (injection.left > 0 ? injection.left-- == 0 : injection.for_ever || injection.fired == 0)) {
    ++injection.fired;
    injection.armed = false;  // backtrace allocates when it is first used
    injection.depth = backtrace(injection.stack, 48);
    injection.armed = true;
    throw std::bad_alloc{};
  }
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir::testing {
namespace {

constexpr long most_allocations = 5000;

class Shortage : public FaultWorld {
 protected:
  /// Calls Weir with the injection armed. What escapes would leave the other ranks waiting, so it ends the job.
  template <class Call>
  auto call(const char* what, bool victim, Call&& make_call) {
    injection.armed = victim;
    try {
      auto result = make_call();
      injection.armed = false;
      return result;
    } catch (const std::bad_alloc&) {
      injection.armed = false;
      fmt::print(stderr, "std::bad_alloc escaped from {} on rank {}, {}\n", what, rank(), now_);
      backtrace_symbols_fd(injection.stack, injection.depth, 2);
      std::abort();
    }
  }

  void check(const Status& status) {
    const Code code = same_code(status);
    EXPECT_TRUE(code == Code::ok || code == Code::no_memory) << name(code) << " " << status.message();
  }
  /// The message of the rank without memory may be missing, the code may not.
  static Code same_code(const Status& status) {
    const int mine = static_cast<int>(status.code());
    int least = 0, most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(least, most) << "this rank: " << name(status.code()) << " " << status.message();
    return status.code();
  }

  bool write_and_read(Context& weir, bool victim, const Part& part, const Settings& settings) {
    const Declaration declaration = part.declaration();
    const auto data = part.all_data(2);
    std::vector<Bytes> back;
    for (const Bytes& variable : data) back.emplace_back(variable.size());
    const std::string path = file("data");
    {
      auto opened = call("create", victim, [&] { return weir.create(path, settings); });
      check(opened.status());
      if (!opened) return false;
      auto step = call("declare", victim, [&] { return opened->declare(declaration); });
      check(step.status());
      Status finished;
      if (step) {
        const Status given = call("write", victim, [&] { return give(*step, data); });
        EXPECT_EQ(given.message(), "");
        finished = call("finish", victim, [&] { return step->finish(); });
        check(finished);
        check(call("sync", victim, [&] { return opened->sync(); }));
      }
      const Status closed = call("close", victim, [&] { return opened->close(); });
      check(closed);
      expect_no_temporaries();
      if (!step || !finished.ok() || !closed.ok()) return false;
    }
    expect_contents(path, pattern_file(2, part.file_size));
    auto opened = call("open", victim, [&] { return weir.open(path, settings); });
    check(opened.status());
    if (!opened) return false;
    auto step = call("declare", victim, [&] { return opened->declare(declaration); });
    check(step.status());
    if (!step) return false;
    EXPECT_EQ(call("read", victim, [&] { return take(*step, back); }).message(), "");
    const Status finished = call("finish", victim, [&] { return step->finish(); });
    check(finished);
    if (finished.ok()) {
      EXPECT_TRUE(back == data);
    }
    check(call("close", victim, [&] { return opened->close(); }));
    return true;
  }

  /// Loops over the allocations of `work` on every rank in turn, until none fails.
  template <class Work>
  void for_each_allocation(const std::string& where, int victim, bool for_ever, Work&& work) {
    for (long n = 0; n < most_allocations; ++n) {
      now_ = fmt::format("{}, allocation {} on rank {} of {}, {}", where, n, victim, ranks(), for_ever ? "and all later" : "once");
      Watchdog::watch(now_);
      injection = {.for_ever = for_ever, .left = n};
      work(rank() == victim);
      const bool fired = any_rank(injection.fired > 0);
      injection = {};
      if (failed_anywhere()) {
        ADD_FAILURE() << "at " << now_;
        return;
      }
      if (!fired) return;
    }
    ADD_FAILURE() << "more than " << most_allocations << " allocations";
  }

  std::string now_;
};

Settings aggregated(const char* between = "two-sided") {
  return {{"plan.mode", "aggregate"}, {"plan.buffer_size", "4096"}, {"plan.aggregators", "2"},
          {"exchange.chunk", "4096"}, {"exchange.between_nodes", between}};
}

TEST_F(Shortage, of_memory_on_one_rank_is_told_by_all_and_the_context_stays_usable) {
  const Part part = Part::interleaved(rank(), ranks(), 100, 40);
  for (const char* per_node : {"0", "2"})
    for (const Settings& settings : {aggregated(), Settings{{"plan.mode", "direct"}}})
      for (const int victim : {0, ranks() - 1})
        for (const bool for_ever : {false, true}) {
          Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
          const std::string where = fmt::format("{}, {} ranks a node", settings.at("plan.mode"), per_node);
          for_each_allocation(where, victim, for_ever, [&](bool here) {
            write_and_read(weir, here, part, settings);
            injection.armed = false;
            expect_works(weir, file("next"), Part::interleaved(rank(), ranks(), 10, 40), settings, 3);
          });
          if (failed_anywhere()) return;
        }
}

TEST_F(Shortage, of_memory_in_a_new_context_is_told_by_all_ranks) {
  const Settings settings = aggregated();
  for (const bool for_ever : {false, true})
    for (const int victim : {0, ranks() - 1}) {
      for_each_allocation("making a context", victim, for_ever, [&](bool here) {
        auto made = call("make", here, [&] { return Context::make(MPI_COMM_WORLD, settings); });
        check(made.status());
      });
      if (failed_anywhere()) return;
    }
}

TEST_F(Shortage, of_memory_while_plans_are_saved_and_loaded_is_told_by_all_ranks) {
  Context weir{MPI_COMM_WORLD};
  const Part part = Part::interleaved(rank(), ranks(), 100, 40);
  auto opened = weir.create(file("data"), aggregated());
  auto step = opened->declare(part.declaration());
  ASSERT_EQ(same(step), Code::ok);
  const Plan plan = step->plan();
  const std::string path = file("plan");
  ASSERT_EQ(same(plan.save(path)), Code::ok);
  for (const int victim : {0, ranks() - 1}) {
    for_each_allocation("save", victim, false, [&](bool here) { check(call("save", here, [&] { return plan.save(path); })); });
    ASSERT_EQ(same(plan.save(path)), Code::ok);
    for_each_allocation("load", victim, false, [&](bool here) {
      auto loaded = call("load_plan", here, [&] { return weir.load_plan(path); });
      check(loaded.status());
    });
    for_each_allocation("step", victim, false, [&](bool here) {
      auto another = call("step", here, [&] { return opened->step(plan, 8); });
      check(another.status());
    });
    if (failed_anywhere()) return;
  }
  const auto data = part.all_data(2);
  EXPECT_EQ(give(*step, data).message(), "");
  EXPECT_EQ(step->finish().message(), "");
  EXPECT_EQ(opened->close().message(), "");
  expect_contents(file("data"), pattern_file(2, part.file_size));
}

}  // namespace
}  // namespace weir::testing

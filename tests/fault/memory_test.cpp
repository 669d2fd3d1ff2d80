#include <execinfo.h>
#include <weir/weir.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <optional>

#include "cases.hpp"
#include "fault/harness.hpp"

// Allocations that fail, one after another, on one rank.
namespace {

struct Injection {
  bool armed = false;  ///< only calls into Weir count
  bool for_ever = false;
  long left = 0;  ///< allocations that are let through
  long fired = 0;
  void* stack[48] = {};  ///< of the last one that failed
  int depth = 0;
} injection;

bool fails() {
  if (!injection.armed || !(injection.left > 0 ? injection.left-- == 0 : injection.for_ever || injection.fired == 0))
    return false;
  ++injection.fired;
  injection.armed = false;  // backtrace allocates when it is first used
  injection.depth = backtrace(injection.stack, 48);
  injection.armed = true;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
  if (fails()) return nullptr;
  return std::aligned_alloc(alignment, (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment);
}

void* or_throw(void* memory) {
  if (!memory) throw std::bad_alloc{};
  return memory;
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // where the compiler sees through `operator new` only
using Alignment = std::align_val_t;
void* operator new(std::size_t size) { return or_throw(allocate(size)); }
void* operator new[](std::size_t size) { return or_throw(allocate(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new(std::size_t size, Alignment at) { return or_throw(allocate(size, static_cast<std::size_t>(at))); }
void* operator new[](std::size_t size, Alignment at) { return or_throw(allocate(size, static_cast<std::size_t>(at))); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, Alignment) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, Alignment) noexcept { std::free(memory); }

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

  /// Whether all went well; a set is not a plain file.
  bool write_and_read(Context& weir, bool victim, const Part& part, const Settings& settings, bool set = false) {
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
    if (!set) expect_contents(path, pattern_file(2, part.file_size));
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

  /// Writes with a plan made before, one pass after another, and reads back. The ranks may not meet until `finish`.
  Status use_plans(Context& weir, bool victim, const Part& part, const Settings& settings, const Plan& writing,
                   const Plan& reading) {
    const std::string path = file("planned");
    const auto before = part.all_data(1), data = part.all_data(4);
    {
      auto opened = call("create", victim, [&] { return weir.create(path, writing, settings); });
      if (!opened) return opened.status();
      auto step = call("step", victim, [&] { return opened->step(); });
      if (!step) return closed(*opened, step.status());
      EXPECT_EQ(call("write", victim, [&] { return give(*step, before); }).message(), "");
      if (Status status = call("finish", victim, [&] { return step->finish(); }); !status)
        return closed(*opened, status);
      EXPECT_EQ(call("write", victim, [&] { return give(*step, data); }).message(), "");
      if (Status status = call("close", victim, [&] { return opened->close(*step); }); !status) return status;
    }
    expect_contents(path, pattern_file(4, part.file_size));
    std::vector<Bytes> back;
    for (const Bytes& variable : data) back.emplace_back(variable.size());
    auto opened = call("open", victim, [&] { return weir.open(path, reading, settings); });
    if (!opened) return opened.status();
    auto step = call("step", victim, [&] { return opened->step(); });
    if (!step) return closed(*opened, step.status());
    EXPECT_EQ(call("read", victim, [&] { return take(*step, back); }).message(), "");
    if (Status status = call("close", victim, [&] { return opened->close(*step); }); !status) return status;
    EXPECT_TRUE(back == data);
    return {};
  }

  void clear() const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0)
      for (const auto& entry : std::filesystem::directory_iterator{directory()})
        std::filesystem::remove_all(entry.path());
    MPI_Barrier(MPI_COMM_WORLD);
  }

  static Status closed(File& file, const Status& status) {
    injection.armed = false;
    (void)file.close();
    return status;
  }

  /// A file by the C functions, and another with a plan that has been saved.
  void use_c(weir_context* context, bool victim, const Part& part) {
    const std::string path = file("c"), plan_path = file("c_plan");
    const auto data = part.all_data(7);
    const weir_setting settings[] = {
        {"plan.mode", "aggregate"}, {"plan.buffer_size", "4096"}, {"plan.aggregators", "2"}, {nullptr, nullptr}};
    weir_declaration* declaration = nullptr;
    weir_file *created = nullptr, *planned = nullptr;
    weir_step *step = nullptr, *another = nullptr, *of_plan = nullptr;
    weir_plan *plan = nullptr, *loaded = nullptr;
    const auto went = [&](const char* what, auto&& make_call) {
      const int code = call(what, victim, make_call);
      check({static_cast<Code>(code), weir_last_message()});
      return code == WEIR_OK;
    };
    const auto write = [&](weir_step* to) {
      for (std::size_t v = 0; v < data.size(); ++v)
        EXPECT_EQ(weir_write(to, static_cast<int>(v), data[v].data(), data[v].size()), WEIR_OK);
    };
    EXPECT_EQ(weir_declaration_new(&declaration), WEIR_OK);
    for (const auto& runs : part.variables) {
      const weir_run run{runs[0].offset, runs[0].length, runs[0].stride, runs[0].count};
      int decomposition = 0, variable = 0;
      EXPECT_EQ(weir_declaration_runs(declaration, 1, &run, &decomposition), WEIR_OK);
      EXPECT_EQ(weir_declaration_variable(declaration, decomposition, 0, &variable), WEIR_OK);
    }
    if (went("create", [&] { return weir_create(context, path.c_str(), settings, &created); }) &&
        went("declare", [&] { return weir_declare(created, declaration, &step); })) {
      EXPECT_EQ(weir_step_plan(step, &plan), WEIR_OK);
      write(step);
      if (went("finish", [&] { return weir_finish(step); }) &&
          went("step", [&] { return weir_plan_step(created, plan, 0, &another); }) &&
          went("save", [&] { return weir_plan_save(plan, plan_path.c_str()); }) &&
          went("load", [&] { return weir_load_plan(context, plan_path.c_str(), &loaded); }) &&
          went("create", [&] { return weir_create_planned(context, path.c_str(), loaded, settings, &planned); }) &&
          went("step", [&] { return weir_file_step(planned, 0, &of_plan); })) {
        write(of_plan);
        went("finish", [&] { return weir_finish(of_plan); });
      }
    }
    injection.armed = false;
    for (weir_step** each : {&step, &another, &of_plan}) EXPECT_EQ(weir_step_free(each), WEIR_OK);
    for (weir_plan** each : {&plan, &loaded}) EXPECT_EQ(weir_plan_free(each), WEIR_OK);
    for (weir_file** each : {&created, &planned})
      if (*each) (void)weir_close(each);
    EXPECT_EQ(weir_declaration_free(&declaration), WEIR_OK);
  }

  /// Loops over the allocations of `work` on every rank in turn, until none fails.
  template <class Work>
  void for_each_allocation(const std::string& where, int victim, bool for_ever, Work&& work, long first = 0,
                           long every = 1) {
    // Every how many-th allocation fails, where all take too long.
    const auto stride = static_cast<long>(from_environment("FAULT_STRIDE", ranks() > 2 ? 3 : 1));
    for (long n = first; n < most_allocations; n += every * stride) {
      now_ = fmt::format("{}, allocation {} on rank {} of {}, {}", where, n, victim, ranks(),
                         for_ever ? "and all later" : "once");
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
  return {{"plan.mode", "aggregate"},
          {"plan.buffer_size", "4096"},
          {"plan.aggregators", "2"},
          {"exchange.chunk", "4096"},
          {"exchange.between_nodes", between}};
}

/// Blocks that overlap those of the ranks before and behind.
Part overlapping(int rank, int ranks) {
  Part part;
  part.variables.push_back({{static_cast<std::uint64_t>(rank) * 512, 1024, 0, 1}});
  part.file_size = static_cast<std::uint64_t>(ranks + 1) * 512;
  return part;
}

/// Pieces of all ranks in turn, of lengths that make the lists long.
Part scattered(int rank, int ranks, std::uint64_t count) {
  const auto r = static_cast<std::uint64_t>(rank), n = static_cast<std::uint64_t>(ranks);
  Part part;
  part.variables.emplace_back();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t length = 8 + i * i % 7;
    part.variables[0].push_back({part.file_size + r * length, length, 0, 1});
    part.file_size += n * length;
  }
  return part;
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

TEST_F(Shortage, of_memory_with_overlaps_and_long_lists_is_told_by_all_ranks) {
  for (const Part& part : {overlapping(rank(), ranks()), scattered(rank(), ranks(), 600)})
    for (const char* per_node : {"0", "2"})
      for (const bool for_ever : {false, true}) {
        Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
        for_each_allocation(fmt::format("{} ranks a node", per_node), ranks() - 1, for_ever, [&](bool here) {
          write_and_read(weir, here, part, aggregated("one-sided"));
          injection.armed = false;
          expect_works(weir, file("next"), Part::interleaved(rank(), ranks(), 10, 40), aggregated(), 3);
        });
        if (failed_anywhere()) return;
      }
}

TEST_F(Shortage, of_memory_with_sub_files_is_told_by_all_ranks) {
  const Part part = Part::interleaved(rank(), ranks(), 100, 40);
  const std::string path = file("data");
  Settings on_nodes = aggregated();
  on_nodes["storage.tier"] = "node";
  on_nodes["memory.node_directory"] = file("node{node}");
  Settings in_sets = aggregated();
  in_sets["plan.files"] = "node";
  // Each takes every fourth allocation, another one than the others.
  struct Way {
    const char* per_node;
    int victim;
    bool for_ever;
  };
  const Way ways[] = {{"0", 0, false}, {"1", ranks() - 1, false}, {"0", ranks() - 1, true}, {"1", 0, true}};
  for (long w = 0; w < 4; ++w)
    for (const Settings& settings : {in_sets, on_nodes}) {
      const auto& [per_node, victim, for_ever] = ways[w];
      Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
      const bool drains = settings.contains("storage.tier");
      const std::string where = fmt::format("{}, {} ranks a node", drains ? "on nodes" : "sub-files", per_node);
      for_each_allocation(
          where, victim, for_ever,
          [&](bool here) {
            clear();  // a rank without memory may leave sub-files
            if (!write_and_read(weir, here, part, settings, true) || !drains) return;
            auto drain = call("drain", here, [&] { return weir.drain(path, settings); });
            check(drain.status());
            if (!drain) return;
            const Status status = call("wait", here, [&] { return drain->wait(); });
            check(status);
            if (status.ok()) expect_contents(path, pattern_file(2, part.file_size));
            expect_no_temporaries();
          },
          w, 4);
      if (failed_anywhere()) return;
    }
}

TEST_F(Shortage, of_memory_in_a_larger_declaration_leaves_the_step_before_it_alone) {
  const Part small = Part::interleaved(rank(), ranks(), 4, 4), large = Part::interleaved(rank(), ranks(), 100, 40);
  for (const char* per_node : {"0", "2"})
    for (const int victim : {0, ranks() - 1}) {
      Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
      const Declaration declaration = large.declaration();
      const auto data = small.all_data(5);
      for_each_allocation(fmt::format("a second declaration, {} ranks a node", per_node), victim, false,
                          [&](bool here) {
                            auto opened = weir.create(file("data"), aggregated());
                            auto step = opened->declare(small.declaration());
                            ASSERT_EQ(same(step), Code::ok);
                            auto larger = call("declare", here, [&] { return opened->declare(declaration); });
                            check(larger.status());
                            EXPECT_EQ(give(*step, data).message(), "");
                            EXPECT_EQ(step->finish().message(), "");
                            EXPECT_EQ(opened->close().message(), "");
                            expect_contents(file("data"), pattern_file(5, small.file_size));
                          });
      if (failed_anywhere()) return;
    }
}

TEST_F(Shortage, of_memory_with_a_plan_made_before_is_told_by_all_ranks) {
  const Part part = Part::interleaved(rank(), ranks(), 100, 40);
  for (const char* per_node : {"0", "2"})
    for (const char* aggregators : {"1", "2"})
      for (const int victim : {0, ranks() - 1})
        for (const bool for_ever : {false, true}) {
          Settings settings = aggregated();
          settings["plan.aggregators"] = aggregators;
          const std::string where = fmt::format("{} aggregators, {} ranks a node", aggregators, per_node);
          for_each_allocation(where, victim, for_ever, [&](bool here) {
            Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
            expect_works(weir, file("planned"), part, settings, 6);
            std::optional<Plan> writing, reading;
            {
              auto created = weir.create(file("other"), settings);
              writing = created->declare(part.declaration())->plan();
              auto opened = weir.open(file("planned"), settings);
              reading = opened->declare(part.declaration())->plan();
            }
            const Status first_error = use_plans(weir, here, part, settings, *writing, *reading);
            injection.armed = false;
            check(first_error);
            // A rank that drops out where the ranks do not meet takes the context with it; else it stays usable.
            auto again = weir.create(file("next"), settings);
            check(again.status());
            if (again) {
              EXPECT_EQ(again->close().message(), "");
            }
          });
          if (failed_anywhere()) return;
        }
}

TEST_F(Shortage, of_memory_in_c_functions_is_told_by_all_ranks) {
  const Part part = Part::interleaved(rank(), ranks(), 100, 40);
  for (const char* per_node : {"0", "2"})
    for (const int victim : {0, ranks() - 1})
      for (const bool for_ever : {false, true}) {
        const weir_setting settings[] = {{"machine.ranks_per_node", per_node}, {nullptr, nullptr}};
        weir_context* context = nullptr;
        for_each_allocation("a context in C", victim, for_ever, [&](bool here) {
          const int code =
              call("context", here, [&] { return weir_context_create(MPI_COMM_WORLD, settings, &context); });
          check({static_cast<Code>(code), weir_last_message()});
          EXPECT_EQ(weir_context_free(&context), WEIR_OK);
        });
        ASSERT_EQ(weir_context_create(MPI_COMM_WORLD, settings, &context), WEIR_OK);
        for_each_allocation(fmt::format("C, {} ranks a node", per_node), victim, for_ever,
                            [&](bool here) { use_c(context, here, part); });
        EXPECT_EQ(weir_context_free(&context), WEIR_OK);
        if (failed_anywhere()) return;
      }
}

TEST_F(Shortage, of_memory_in_a_new_context_is_told_by_all_ranks) {
  for (const bool for_ever : {false, true})
    for (const int victim : {0, ranks() - 1}) {
      Settings settings = aggregated();
      settings["machine.ranks_per_node"] = for_ever ? "2" : "0";
      for_each_allocation("making a context", victim, for_ever, [&](bool here) {
        auto made = call("make", here, [&] { return Context::make(MPI_COMM_WORLD, settings); });
        check(made.status());
      });
      if (failed_anywhere()) return;
    }
}

TEST_F(Shortage, of_memory_while_plans_are_saved_and_loaded_is_told_by_all_ranks) {
  const Part part = Part::interleaved(rank(), ranks(), 100, 40);
  const std::string path = file("plan");
  for (const char* per_node : {"0", "2"}) {
    Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
    auto opened = weir.create(file("data"), aggregated());
    auto step = opened->declare(part.declaration());
    ASSERT_EQ(same(step), Code::ok);
    const Plan plan = step->plan();
    for (const int victim : {0, ranks() - 1})
      for (const bool for_ever : {false, true}) {
        for_each_allocation("save", victim, for_ever,
                            [&](bool here) { check(call("save", here, [&] { return plan.save(path); })); });
        ASSERT_EQ(same(plan.save(path)), Code::ok);
        for_each_allocation("load", victim, for_ever, [&](bool here) {
          auto loaded = call("load_plan", here, [&] { return weir.load_plan(path); });
          check(loaded.status());
        });
        for_each_allocation("step", victim, for_ever, [&](bool here) {
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
}

}  // namespace
}  // namespace weir::testing

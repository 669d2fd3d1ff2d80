#include "fault/harness.hpp"

namespace weir::testing {
namespace {

constexpr std::uint64_t old_seed = 1, new_seed = 2;
constexpr int all_ranks = -1;
constexpr int most_calls = 300;  // that a loop over n may take before it counts as endless

/// How the data reaches the storage.
struct Way {
  const char* name;
  Settings settings;
  Part (*part)(int rank, int ranks);
};

std::vector<Way> ways() {
  const Settings aggregate{{"plan.mode", "aggregate"},   {"plan.buffer_size", "4096"}, {"plan.aggregators", "3"},
                           {"exchange.chunk", "4096"}, {"plan.buffers", "2"}};
  const auto interleaved = [](int rank, int ranks) { return Part::interleaved(rank, ranks, 128, 448 / static_cast<std::uint64_t>(ranks)); };
  const auto blocks = [](int rank, int ranks) { return Part::blocks(rank, ranks); };
  Settings uring = aggregate;
  uring["storage.async"] = "uring";
  return {{"aggregate", aggregate, interleaved},
          {"aggregate with uring", uring, interleaved},
          {"direct", {{"plan.mode", "direct"}}, blocks}};
}

/// An error that is injected at the n-th call, and what the ranks must say.
struct Fault {
  std::string words;  ///< "op=write error=EIO"
  Code code;
  int rank = all_ranks;
  bool once = true;

  [[nodiscard]] std::string rule(int n) const {
    return fmt::format("{} after={}{}{}", words, n, once ? " times=1" : "",
                       rank == all_ranks ? std::string{} : fmt::format(" rank={}", rank));
  }
};

class StorageFaults : public FaultWorld {
 protected:
  /// Loops n over one fault until a pass meets none; false when something was wrong.
  bool write_loop(Context& weir, const Way& way, const Fault& fault, const std::string& where) {
    const Part part = way.part(rank(), ranks());
    for (int n = 0; n < most_calls; ++n) {
      const std::string what = fmt::format("{} {}, '{}'", where, way.name, fault.rule(n));
      SCOPED_TRACE(what);
      Watchdog::watch(what);
      const bool fired = write_once(weir, way, part, fault, n);
      if (failed_anywhere()) {
        ADD_FAILURE() << "in " << what;
        return false;
      }
      if (!fired) return true;
    }
    ADD_FAILURE() << "a fault fired at each of " << most_calls << " calls";
    return false;
  }

  bool write_once(Context& weir, const Way& way, const Part& part, const Fault& fault, int n) {
    const std::string path = file("data");
    const Bytes before = pattern_file(old_seed, 777);
    prepare(path, before);
    Settings settings = way.settings;
    settings["storage.fault"] = fault.rule(n);
    auto opened = weir.create(path, settings);
    if (same(opened) != Code::ok) return ADD_FAILURE() << opened.status().message(), false;
    auto step = opened->declare(part.declaration());
    if (same(step) != Code::ok) return ADD_FAILURE() << step.status().message(), false;
    const auto data = part.all_data(new_seed);
    EXPECT_EQ(give(*step, data).message(), "");
    Status status = step->finish();
    const bool fired = same(status) != Code::ok;
    if (fired) expect_truth(status, fault.code, part.file_size);
    // A fault that comes once on every rank may wait for the second pass on ranks with few calls.
    for (int retries = fault.rank == all_ranks ? 3 : 1; fault.once && !status.ok() && retries > 0; --retries) {
      EXPECT_EQ(give(*step, data).message(), "");
      status = step->finish();
      same(status);
    }
    EXPECT_EQ(status.ok(), fault.once || !fired) << status.message();
    if (status.ok()) {
      EXPECT_EQ(status.bytes(), part.file_size);
    }
    const Status closing = opened->close();
    EXPECT_EQ(same(closing) == Code::ok, status.ok()) << closing.message();
    expect_contents(path, status.ok() ? pattern_file(new_seed, part.file_size) : before);
    expect_no_temporaries();
    if (fired) expect_works(weir, file("next"), part, way.settings, new_seed + static_cast<std::uint64_t>(n));
    return fired;
  }

  /// A failed pass tells what it was, where, and no more bytes than the file has.
  void expect_truth(const Status& status, Code code, std::uint64_t total) const {
    EXPECT_EQ(name(status.code()), std::string{name(code)}) << status.message();
    EXPECT_NE(status.message().find("data"), std::string::npos) << status.message();
    EXPECT_LE(status.bytes(), total);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) return;
    const auto found = temporaries();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_LE(status.bytes(), bytes_of_pattern(contents(found[0]), new_seed));
  }

  /// The whole thing on all nodes as one, and on nodes of two ranks.
  template <class Work>
  void on_both_machines(Work&& work) {
    for (const char* per_node : {"0", "2"}) {
      Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}}};
      for (const Way& way : ways()) expect_works(weir, file("first"), way.part(rank(), ranks()), way.settings, new_seed);
      const std::size_t descriptors = open_descriptors();
      if (!work(weir, fmt::format("{} ranks, {} a node,", ranks(), per_node))) return;
      EXPECT_EQ(open_descriptors(), descriptors) << "descriptors leak";
    }
  }
};

TEST_F(StorageFaults, of_writing_on_one_rank_are_told_by_all_and_once_gone_the_step_can_be_repeated) {
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways())
      for (int r = 0; r < ranks(); ++r)
        for (const bool once : {true, false})
          if (!write_loop(weir, way, {"op=write error=EIO", Code::io, r, once}, where)) return false;
    return true;
  });
}

TEST_F(StorageFaults, of_writing_on_all_ranks_keep_the_old_file_whole) {
  const std::pair<const char*, Code> errors[] = {{"ENOSPC", Code::no_space}, {"EDQUOT", Code::quota},
                                                 {"EFBIG", Code::too_large}, {"EIO", Code::io}};
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways())
      for (const auto& [error, code] : errors)
        for (const bool once : {true, false})
          if (!write_loop(weir, way, {fmt::format("op=write error={}", error), code, all_ranks, once}, where)) return false;
    return true;
  });
}

TEST_F(StorageFaults, that_are_interruptions_or_short_transfers_are_invisible) {
  const char* rules[] = {"op=write error=EINTR times=1", "op=write error=EINTR times=20", "op=write short=1000",
                         "op=write short=1 times=50", "op=write short=77; op=write error=EINTR times=9"};
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways())
      for (const char* rule : rules)
        for (int n = 0; n < 4; ++n) {
          Watchdog::watch(fmt::format("{} {} {}", where, way.name, rule));
          Settings settings = way.settings;
          settings["storage.fault"] = fmt::format("{} after={}", rule, n);
          expect_works(weir, file("data"), way.part(rank(), ranks()), settings, static_cast<std::uint64_t>(n));
          if (failed_anywhere()) return ADD_FAILURE() << where << way.name << settings["storage.fault"], false;
        }
    return true;
  });
}

TEST_F(StorageFaults, that_move_no_byte_are_errors_and_not_endless) {
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways())
      if (!write_loop(weir, way, {"op=write short=0", Code::io, all_ranks, false}, where)) return false;
    return true;
  });
}

class ReadFaults : public StorageFaults {
 protected:
  bool read_once(Context& weir, const Way& way, const Part& part, const Fault& fault, int n) {
    Settings settings = way.settings;
    settings["storage.fault"] = fault.rule(n);
    auto opened = weir.open(file("source"), settings);
    if (same(opened) != Code::ok) return ADD_FAILURE() << opened.status().message(), false;
    auto step = opened->declare(part.declaration());
    if (same(step) != Code::ok) return ADD_FAILURE() << step.status().message(), false;
    const auto expected = part.all_data(new_seed);
    std::vector<Bytes> data;
    for (const Bytes& variable : expected) data.emplace_back(variable.size(), 0);
    EXPECT_EQ(take(*step, data).message(), "");
    Status status = step->finish();
    const bool fired = same(status) != Code::ok;
    if (fired) {
      EXPECT_EQ(name(status.code()), std::string{name(fault.code)}) << status.message();
      EXPECT_NE(status.message().find("source"), std::string::npos) << status.message();
      EXPECT_LE(status.bytes(), part.file_size);
    }
    for (int retries = fault.rank == all_ranks ? 3 : 1; fault.once && !status.ok() && retries > 0; --retries) {
      for (Bytes& variable : data) std::fill(variable.begin(), variable.end(), 0);
      EXPECT_EQ(take(*step, data).message(), "");
      status = step->finish();
      same(status);
    }
    EXPECT_EQ(status.ok(), fault.once || !fired) << status.message();
    if (status.ok()) {
      EXPECT_TRUE(data == expected);
    }
    if (status.ok()) {
      EXPECT_EQ(status.bytes(), part.file_size);
    }
    EXPECT_EQ(same(opened->close()), Code::ok);
    return fired;
  }
};

TEST_F(ReadFaults, are_told_by_all_ranks_and_once_gone_the_step_can_be_repeated) {
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways()) {
      const Part part = way.part(rank(), ranks());
      prepare(file("source"), pattern_file(new_seed, part.file_size));
      for (int r = all_ranks; r < ranks(); ++r)
        for (const bool once : {true, false})
          for (int n = 0;; ++n) {
            const Fault fault{"op=read error=EIO", Code::io, r, once};
            Watchdog::watch(fmt::format("{} {}, '{}'", where, way.name, fault.rule(n)));
            const bool fired = read_once(weir, way, part, fault, n);
            if (failed_anywhere() || n == most_calls) return ADD_FAILURE() << where << way.name << fault.rule(n), false;
            if (!fired) break;
          }
      for (const char* rule : {"op=read short=100", "op=read error=EINTR times=9", "op=read short=1 times=30"})
        EXPECT_FALSE(read_once(weir, way, part, {rule, Code::ok, all_ranks, false}, 2)) << rule;
    }
    return true;
  });
}

class LateFaults : public StorageFaults {};

TEST_F(LateFaults, of_sync_close_and_rename_fail_the_close_on_all_ranks_and_keep_the_old_file) {
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways())
      for (const char* op : {"sync", "close", "rename"})
        for (int r = all_ranks; r < ranks(); ++r) {
          const Part part = way.part(rank(), ranks());
          const Fault fault{fmt::format("op={} error=EIO", op), Code::io, r, true};
          SCOPED_TRACE(fmt::format("{} {} {}", where, way.name, fault.rule(0)));
          Watchdog::watch(fmt::format("{} {} {}", where, way.name, fault.rule(0)));
          const Bytes before = pattern_file(old_seed, 777);
          prepare(file("data"), before);
          Settings settings = way.settings;
          settings["storage.fault"] = fault.rule(0);
          settings["storage.durability"] = "durable";
          auto opened = weir.create(file("data"), settings);
          auto step = opened->declare(part.declaration());
          const auto data = part.all_data(new_seed);
          EXPECT_EQ(give(*step, data).message(), "");
          const Status finished = step->finish();
          same(finished);
          const Status closed = opened->close();
          const bool fired = same(closed) != Code::ok;
          if (r == all_ranks || r == 0) {
            EXPECT_TRUE(fired);
          }
          if (fired) expect_code(closed, Code::io, "data");
          expect_contents(file("data"), fired ? before : pattern_file(new_seed, part.file_size));
          expect_no_temporaries();
          expect_works(weir, file("next"), part, way.settings, 9);
          if (failed_anywhere()) return false;
        }
    return true;
  });
}

TEST_F(LateFaults, of_sync_are_told_by_all_ranks) {
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways()) {
      Watchdog::watch(where + way.name);
      const Part part = way.part(rank(), ranks());
      for (const char* rule : {"op=sync error=EIO times=1 rank=0", "op=syncdir error=EIO times=1"}) {
        Settings settings = way.settings;
        settings["storage.fault"] = rule;
        auto opened = weir.create(file("data"), settings);
        auto step = opened->declare(part.declaration());
        const auto data = part.all_data(new_seed);
        EXPECT_EQ(give(*step, data).message(), "");
        EXPECT_EQ(same(step->finish()), Code::ok);
        expect_code(opened->sync(), Code::io);
        // What was not made durable must be written again.
        EXPECT_EQ(give(*step, data).message(), "");
        EXPECT_EQ(same(step->finish()), Code::ok);
        EXPECT_EQ(same(opened->sync()), Code::ok);
        EXPECT_EQ(same(opened->close()), Code::ok);
        expect_contents(file("data"), pattern_file(new_seed, part.file_size));
      }
    }
    return !failed_anywhere();
  });
}

class OpenFaults : public StorageFaults {};

TEST_F(OpenFaults, on_the_first_rank_fail_the_open_on_all) {
  const std::pair<const char*, Code> errors[] = {{"EACCES", Code::access}, {"EMFILE", Code::too_many_files},
                                                 {"ENOENT", Code::not_found}, {"EROFS", Code::read_only},
                                                 {"ENOSPC", Code::no_space}, {"ENOMEM", Code::no_memory}};
  on_both_machines([&](Context& weir, const std::string& where) {
    prepare(file("data"), pattern_file(old_seed, 777));
    for (const auto& [error, code] : errors) {
      Watchdog::watch(where + error);
      const Settings settings{{"storage.fault", fmt::format("op=open error={} rank=0", error)}};
      expect_code(weir.create(file("data"), settings), code, "data");
      expect_code(weir.open(file("data"), settings), code, "data");
      expect_code(weir.update(file("data"), settings), code, "data");
      expect_contents(file("data"), pattern_file(old_seed, 777));
      expect_no_temporaries();
    }
    return !failed_anywhere();
  });
}

TEST_F(OpenFaults, on_later_ranks_fail_the_step_on_all_and_once_gone_it_can_be_repeated) {
  const std::pair<const char*, Code> errors[] = {{"EACCES", Code::access}, {"EMFILE", Code::too_many_files},
                                                 {"ENOENT", Code::not_found}, {"EROFS", Code::read_only}};
  on_both_machines([&](Context& weir, const std::string& where) {
    for (const Way& way : ways())
      for (const auto& [error, code] : errors)
        for (int r = 1; r < ranks(); ++r)
          for (const bool once : {true, false}) {
            const Fault fault{fmt::format("op=open error={}", error), code, r, once};
            const std::string what = fmt::format("{} {}, '{}'", where, way.name, fault.rule(0));
            Watchdog::watch(what);
            write_once(weir, way, way.part(rank(), ranks()), fault, 0);
            if (failed_anywhere()) return ADD_FAILURE() << what, false;
          }
    return true;
  });
}

}  // namespace
}  // namespace weir::testing

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "mpi/world.hpp"

namespace weir::testing {

/// Ends the program, and so the job, when what is `watched` takes too long.
class Watchdog {
 public:
  /// What the next calls are about; they get `seconds` from now.
  static void watch(const std::string& what, unsigned seconds = 60) {
    const std::string line = fmt::format("too slow, or a hang: {}\n", what);
    std::strncpy(text_, line.c_str(), sizeof text_ - 1);
    signal(SIGALRM, [](int) {
      (void)!write(STDERR_FILENO, text_, strlen(text_));
      abort();
    });
    alarm(seconds);
  }
  static void rest() { alarm(0); }

 private:
  static inline char text_[512] = {};
};

inline std::size_t open_descriptors() {
  const auto all = std::filesystem::directory_iterator{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// The parts of a file that one rank holds, variable by variable, as runs.
struct Part {
  std::vector<std::vector<Run>> variables;
  std::uint64_t file_size = 0;

  [[nodiscard]] Declaration declaration() const {
    Declaration declaration;
    for (const auto& runs : variables) declaration.variable(runs);
    return declaration;
  }
  [[nodiscard]] Bytes data(std::size_t variable, std::uint64_t seed) const {
    Bytes bytes;
    for (const Run& run : variables[variable])
      for (std::uint64_t k = 0; k < run.count; ++k)
        append_pattern(bytes, seed, run.offset + k * run.stride, run.length);
    return bytes;
  }
  [[nodiscard]] std::vector<Bytes> all_data(std::uint64_t seed) const {
    std::vector<Bytes> all;
    for (std::size_t v = 0; v < variables.size(); ++v) all.push_back(data(v, seed));
    return all;
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t total = 0;
    for (const auto& runs : variables)
      for (const Run& run : runs) total += run.length * run.count;
    return total;
  }

  /// Small pieces of all ranks in turn, then a block of each.
  static Part interleaved(int rank, int ranks, std::uint64_t piece = 128, std::uint64_t count = 128) {
    const auto r = static_cast<std::uint64_t>(rank), n = static_cast<std::uint64_t>(ranks);
    Part part;
    part.variables.push_back({{r * piece, piece, n * piece, count}});
    part.variables.push_back({{n * piece * count + r * 512, 512, 0, 1}});
    part.file_size = n * (piece * count + 512);
    return part;
  }
  /// Variables of one block a rank.
  static Part blocks(int rank, int ranks, std::uint64_t block = 4096, std::uint64_t count = 3) {
    const auto r = static_cast<std::uint64_t>(rank), n = static_cast<std::uint64_t>(ranks);
    Part part;
    for (std::uint64_t v = 0; v < count; ++v) part.variables.push_back({{(v * n + r) * block, block, 0, 1}});
    part.file_size = n * block * count;
    return part;
  }
};

class FaultWorld : public World {
 protected:
  using Run = weir::Run;  // and not GoogleTest's

  void TearDown() override {
    Watchdog::rest();
    World::TearDown();
  }

  [[nodiscard]] std::string file(const std::string& name) const { return directory() + "/" + name; }

  /// The code, which must be the same on all ranks and come with a message of the right form.
  static Code same(const Status& status) {
    const int mine = static_cast<int>(status.code());
    int least = 0, most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(least, most) << "this rank: " << name(status.code()) << " " << status.message();
    if (!status.ok()) {
      EXPECT_EQ(status.message().substr(0, 6), "weir: ") << name(status.code());
    }
    return status.code();
  }
  template <class T>
  static Code same(Result<T>& result) {
    return same(result.status());
  }
  static void expect_code(const Status& status, Code code, const std::string& words = {}) {
    EXPECT_EQ(name(same(status)), std::string{name(code)}) << status.message();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }
  template <class T>
  static void expect_code(const Result<T>& result, Code code, const std::string& words = {}) {
    expect_code(result.status(), code, words);
  }
  [[nodiscard]] static bool failed_anywhere() { return any_rank(HasFailure()); }

  /// Rank 0 puts a file there, for all.
  void prepare(const std::string& path, const Bytes& bytes) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) put(path, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void expect_contents(const std::string& path, const Bytes& expected) const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) return;
    const Bytes found = contents(path);
    EXPECT_EQ(found.size(), expected.size());
    EXPECT_TRUE(found == expected) << path << " differs";
  }
  /// Files that should be gone: temporary names of created ones.
  [[nodiscard]] std::vector<std::string> temporaries() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{directory()})
      if (entry.path().filename().string().find(".weir-") != std::string::npos) found.push_back(entry.path().string());
    return found;
  }
  void expect_no_temporaries() const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) {
      EXPECT_EQ(temporaries(), std::vector<std::string>{});
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  static Status give(Step& step, const std::vector<Bytes>& data) {
    for (std::size_t v = 0; v < data.size(); ++v)
      if (Status status = step.write(static_cast<int>(v), data[v]); !status) return status;
    return {};
  }
  static Status take(Step& step, std::vector<Bytes>& data) {
    for (std::size_t v = 0; v < data.size(); ++v)
      if (Status status = step.read(static_cast<int>(v), data[v]); !status) return status;
    return {};
  }

  /// A whole file, written and closed, compared with what it must be.
  void expect_works(Context& weir, const std::string& path, const Part& part, Settings settings, std::uint64_t seed) {
    auto opened = weir.create(path, settings);
    ASSERT_EQ(same(opened), Code::ok) << opened.status().message();
    auto step = opened->declare(part.declaration());
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    const auto data = part.all_data(seed);
    EXPECT_EQ(give(*step, data).message(), "");
    EXPECT_EQ(step->finish().message(), "");
    EXPECT_EQ(opened->close().message(), "");
    expect_contents(path, pattern_file(seed, part.file_size));
  }
};

}  // namespace weir::testing

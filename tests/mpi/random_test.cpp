#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "cases.hpp"
#include "mpi/random_declaration.hpp"
#include "mpi/world.hpp"

namespace weir::testing {
namespace {

/// How one case is carried out; made from the seed, so all ranks have the same.
struct Circumstances {
  Settings settings;
  bool update, split, twice;

  [[nodiscard]] std::string text() const {
    std::string all = fmt::format("update {} split {} twice {}", update, split, twice);
    for (const auto& [key, value] : settings) all += fmt::format(" {}={}", key, value);
    return all;
  }

  static Circumstances make(Random& random, std::uint64_t end) {
    Circumstances c;
    c.settings["plan.mode"] = between(random, 0, 5) == 0 ? "auto" : "aggregate";
    c.settings["plan.buffers"] = std::to_string(between(random, 1, 3));
    const std::uint64_t sizes[] = {1, 7, 64, 1000, 4096, 0};
    c.settings["plan.buffer_size"] = std::to_string(std::max(sizes[between(random, 0, 5)], end / 300));
    c.settings["plan.aggregators"] = std::to_string(between(random, 0, 5));
    c.settings["plan.alignment"] = std::to_string(between(random, 0, 1) * 512);
    c.settings["exchange.between_nodes"] = between(random, 0, 1) == 0 ? "two-sided" : "one-sided";
    c.settings["storage.replace"] = between(random, 0, 1) == 0 ? "yes" : "no";
    c.settings["storage.async"] = between(random, 0, 3) == 0 ? "uring" : "auto";
    c.update = between(random, 0, 1) == 0;
    c.split = between(random, 0, 2) == 0;
    c.twice = between(random, 0, 2) == 0;
    return c;
  }
};

void finish(Step& step, bool split) {
  if (!split) {
    ASSERT_EQ(step.finish().message(), "");
    return;
  }
  ASSERT_EQ(step.start().message(), "");
  while (!step.test()) std::this_thread::yield();
  ASSERT_EQ(step.wait().message(), "");
}

class RandomDeclarations : public World {
 protected:
  /// `described`: the context knows a machine with these banks.
  void one_case(Context& weir, std::uint64_t seed, bool described = false) {
    Random random{seed};
    const RandomCase declared = RandomCase::make(random, ranks(), between(random, 0, 3) == 0);
    Circumstances how = Circumstances::make(random, declared.end);
    if (described) {
      const char* models[] = {"greedy", "shortest", "longest", "random", "tapioca", "ma-tapioca", "weir"};
      const char* tiers[] = {"", "hbm", "dram", "scratch", "small"};
      how.settings["plan.model"] = models[between(random, 0, 6)];
      how.settings["memory.tier"] = tiers[between(random, 0, 4)];
    }
    SCOPED_TRACE(how.text());
    const std::string path = directory() + "/data";
    Bytes expected;
    if (how.update) {
      expected.assign(declared.end + between(random, 0, 100), 0xee);
      if (rank() == 0) put(path, expected);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    overlay(expected, declared, seed);
    write(weir, path, declared, how, seed, random);
    if (rank() == 0) {
      const auto found = contents(path);
      ASSERT_EQ(found.size(), expected.size());
      ASSERT_EQ(first_difference(found, expected), found.size());
    }
    // Read by other ranks than those that wrote, and what several ranks want at once.
    RandomCase wanted = declared;
    std::rotate(wanted.ranks.begin(), wanted.ranks.begin() + static_cast<std::ptrdiff_t>(between(random, 0, wanted.ranks.size() - 1)), wanted.ranks.end());
    read(weir, path, wanted, how, expected);
  }

 private:
  void write(Context& weir, const std::string& path, const RandomCase& declared, const Circumstances& how,
             std::uint64_t seed, Random& random) {
    auto opened = how.update ? weir.update(path, how.settings) : weir.create(path, how.settings);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const Declaration& mine = declared.ranks[static_cast<std::size_t>(rank())];
    auto declaring = opened->declare(mine);
    ASSERT_TRUE(declaring.ok()) << declaring.status().message();
    Step& step = *declaring;
    std::vector<int> order(static_cast<std::size_t>(mine.variables()));
    std::iota(order.begin(), order.end(), 0);
    for (int pass = 0; pass < (how.twice ? 2 : 1); ++pass) {
      const bool last = pass == (how.twice ? 1 : 0);
      std::shuffle(order.begin(), order.end(), random);
      std::vector<Bytes> data(order.size());
      for (const int v : order) {
        data[v].resize(plain_bytes(mine, v));
        fill_content(data[v], last ? seed : seed + 1, rank(), v);
        ASSERT_EQ(step.write(v, data[v]).message(), "");
      }
      finish(step, how.split);
    }
    ASSERT_EQ(opened->close().message(), "");
  }

  void read(Context& weir, const std::string& path, const RandomCase& wanted, const Circumstances& how,
            const Bytes& expected) {
    auto opened = weir.open(path, how.settings);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const Declaration& mine = wanted.ranks[static_cast<std::size_t>(rank())];
    auto declaring = opened->declare(mine);
    ASSERT_TRUE(declaring.ok()) << declaring.status().message();
    std::vector<Bytes> data(static_cast<std::size_t>(mine.variables()));
    for (int v = mine.variables() - 1; v >= 0; --v) {
      data[v].assign(plain_bytes(mine, v), 0xaa);
      ASSERT_EQ(declaring->read(v, data[v]).message(), "");
    }
    finish(*declaring, how.split);
    for (int v = 0; v < mine.variables(); ++v) {
      std::uint64_t index = 0;
      for (const PlainPiece& piece : plain_pieces(mine, v)) {
        ASSERT_EQ(0, std::memcmp(data[v].data() + index, expected.data() + piece.offset, piece.length))
            << "variable " << v << " at " << piece.offset;
        index += piece.length;
      }
    }
    ASSERT_EQ(opened->close().message(), "");
  }
};

TEST_F(RandomDeclarations, equal_the_reference_byte_for_byte) {
  const std::uint64_t count = cases(500), first = from_environment("RANDOM_SEED", 1);
  for (const int per_node : {0, 1, 2, 3}) {
    const double start = MPI_Wtime();
    Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", std::to_string(per_node)}}};
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}, {} ranks, {} ranks a node", seed, ranks(), per_node));
      one_case(weir, seed);
      ASSERT_FALSE(any_rank(HasFatalFailure())) << "seed " << seed << ", " << per_node << " ranks a node";
    }
    if (rank() == 0)
      fmt::print("{} cases from seed {} on {} ranks, {} a node (0: all), in {:.1f} s\n", count, first, ranks(), per_node,
                 MPI_Wtime() - start);
  }
}

TEST_F(RandomDeclarations, equal_the_reference_wherever_models_put_their_buffers) {
  const std::uint64_t count = cases(125);
  const std::string machine = fmt::format(
      "torus 4x2 link 1GBps latency 1us gateway every 4 bridges 1 bridge 1GBps bank hbm 1GB 100GBps 100ns "
      "bank dram 16GB 20GBps 90ns bank scratch nvme 1GB 1GBps 10us job bank small ssd 8MB 0.5GBps 50us job");
  for (const int per_node : {0, 1, 2}) {
    Context weir{MPI_COMM_WORLD,
                 {{"machine.ranks_per_node", std::to_string(per_node)}, {"machine.description", machine}}};
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}, {} ranks, {} ranks a node", seed, ranks(), per_node));
      one_case(weir, seed, true);
      ASSERT_FALSE(any_rank(HasFatalFailure())) << "seed " << seed << ", " << per_node << " ranks a node";
    }
  }
}

}  // namespace
}  // namespace weir::testing

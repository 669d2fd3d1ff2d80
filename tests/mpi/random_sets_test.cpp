#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "cases.hpp"
#include "mpi/random_declaration.hpp"
#include "mpi/world.hpp"

// Random declarations written as sub-files, and read again by other ranks in other pieces.
namespace weir::testing {
namespace {

/// What a file would hold, and which bytes of it somebody wrote.
struct Reference {
  Bytes bytes, written;

  void add(const RandomCase& declared, std::uint64_t seed, std::uint64_t shift) {
    RandomCase moved = declared;
    moved.end += shift;
    for (Declaration& declaration : moved.ranks) {
      Declaration other;
      for (const auto& shape : declaration.shapes()) other.decomposition(shape.runs);
      for (const auto& variable : declaration.variable_list()) other.variable(variable.shape, variable.at + shift);
      declaration = other;
    }
    overlay(bytes, moved, seed);
    written.resize(bytes.size(), 0);
    for (const Declaration& declaration : moved.ranks)
      for (int v = 0; v < declaration.variables(); ++v)
        for (const PlainPiece& piece : plain_pieces(declaration, v))
          std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(piece.offset), piece.length, 1);
  }

  /// Pieces of what was written, in any order, some of them more than once.
  [[nodiscard]] RandomCase wanted(Random& random, int ranks) const {
    std::vector<PlainPiece> stretches;
    for (std::uint64_t at = 0; at < written.size();) {
      const auto first = std::find(written.begin() + static_cast<std::ptrdiff_t>(at), written.end(), 1);
      const auto last = std::find(first, written.end(), 0);
      if (first != last)
        stretches.push_back({static_cast<std::uint64_t>(first - written.begin()),
                             static_cast<std::uint64_t>(last - first)});
      at = static_cast<std::uint64_t>(last - written.begin());
    }
    RandomCase made;
    made.ranks.resize(static_cast<std::size_t>(ranks));
    const std::uint64_t variables = between(random, 1, 4);
    for (Declaration& declaration : made.ranks)
      for (std::uint64_t v = 0; v < variables; ++v) {
        std::vector<Run> runs;
        for (std::uint64_t n = stretches.empty() ? 0 : between(random, 0, 20); n > 0; --n) {
          const PlainPiece& from = stretches[between(random, 0, stretches.size() - 1)];
          const std::uint64_t skip = between(random, 0, from.length - 1);
          runs.push_back({from.offset + skip, between(random, 1, from.length - skip), 0, 1});
        }
        declaration.variable(runs);
      }
    return made;
  }
};

class RandomSets : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    for (int readers : {1, ranks() / 2 + 1, ranks()}) {
      if (readers_.contains(readers)) continue;
      MPI_Comm communicator = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, rank() < readers ? 0 : MPI_UNDEFINED, -rank(), &communicator);
      readers_[readers] = communicator;
    }
  }
  void TearDown() override {
    for (auto& [count, communicator] : readers_)
      if (communicator != MPI_COMM_NULL) MPI_Comm_free(&communicator);
    World::TearDown();
  }

  static Settings circumstances(Random& random, std::uint64_t end) {
    Settings settings;
    const char* modes[] = {"auto", "direct", "aggregate", "aggregate"};
    settings["plan.mode"] = modes[between(random, 0, 3)];
    settings["plan.buffers"] = std::to_string(between(random, 1, 3));
    const std::uint64_t sizes[] = {7, 64, 1000, 4096, 0};
    settings["plan.buffer_size"] = std::to_string(std::max(sizes[between(random, 0, 4)], end / 300));
    settings["plan.aggregators"] = std::to_string(between(random, 0, 5));
    settings["plan.alignment"] = std::to_string(between(random, 0, 1) * 512);
    settings["exchange.between_nodes"] = between(random, 0, 1) == 0 ? "two-sided" : "one-sided";
    settings["storage.async"] = between(random, 0, 3) == 0 ? "uring" : "auto";
    return settings;
  }

  /// One pass over a step, with data that tells where it came from.
  void write(Step& step, const Declaration& mine, std::uint64_t seed) {
    std::vector<Bytes> data(static_cast<std::size_t>(mine.variables()));
    for (int v = 0; v < mine.variables(); ++v) {
      data[v].resize(plain_bytes(mine, v));
      fill_content(data[v], seed, rank(), v);
      ASSERT_EQ(step.write(v, data[v]).message(), "");
    }
    ASSERT_EQ(step.finish().message(), "");
  }

  void read(Context& weir, int reader, const std::string& path, const RandomCase& wanted, const Settings& settings,
            const Reference& reference) {
    auto opened = weir.open(path, settings);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const Declaration& mine = wanted.ranks[static_cast<std::size_t>(reader)];
    auto step = opened->declare(mine);
    ASSERT_TRUE(step.ok()) << step.status().message();
    std::vector<Bytes> data(static_cast<std::size_t>(mine.variables()));
    for (int v = 0; v < mine.variables(); ++v) {
      data[v].assign(plain_bytes(mine, v), 0xaa);
      ASSERT_EQ(step->read(v, data[v]).message(), "");
    }
    ASSERT_EQ(step->finish().message(), "");
    for (int v = 0; v < mine.variables(); ++v) {
      std::uint64_t index = 0;
      for (const PlainPiece& piece : plain_pieces(mine, v))
        for (std::uint64_t b = 0; b < piece.length; ++b)
          ASSERT_EQ(data[v][index++], reference.bytes[piece.offset + b])
              << "variable " << v << " at " << piece.offset + b;
    }
    // What nobody wrote cannot be read, and all ranks say so.
    const auto hole = std::find(reference.written.begin(), reference.written.end(), 0);
    const auto offset = static_cast<std::uint64_t>(hole - reference.written.begin());
    auto nothing = opened->declare(Declaration{{reader == 0 ? offset : 0, reader == 0 ? 1u : 0u, 0, 1}});
    ASSERT_EQ(name(nothing.status().code()), std::string{"end_of_file"});
    ASSERT_NE(nothing.status().message().find(fmt::format("offset {}", offset)), std::string::npos)
        << nothing.status().message();
    ASSERT_EQ(opened->close().message(), "");
  }

  /// Writes a random set with these settings besides random ones; what it must hold.
  Reference write_set(Context& weir, Random& random, std::uint64_t seed, const Settings& more) {
    Reference reference;
    const bool overlaps = between(random, 0, 2) == 0;
    const RandomCase declared = RandomCase::make(random, ranks(), overlaps);
    const RandomCase second = RandomCase::make(random, ranks(), overlaps);
    const std::uint64_t shift = between(random, 0, 1) * between(random, 0, 3 * declared.end + 100);
    const bool again = between(random, 0, 2) == 0, other = between(random, 0, 2) == 0;
    Settings settings = circumstances(random, declared.end);
    settings.insert(more.begin(), more.end());
    [&] {
      auto opened = weir.create(path(), settings);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      const Declaration& mine = declared.ranks[static_cast<std::size_t>(rank())];
      auto step = opened->declare(mine);
      ASSERT_TRUE(step.ok()) << step.status().message();
      if (again) write(*step, mine, seed + 1);
      if (shift > 0) {
        auto moved = opened->step(step->plan(), shift);
        ASSERT_TRUE(moved.ok()) << moved.status().message();
        write(*moved, mine, seed + 2);
        reference.add(declared, seed + 2, shift);
      }
      if (other) {
        const Declaration& more = second.ranks[static_cast<std::size_t>(rank())];
        auto next = opened->declare(more);
        ASSERT_TRUE(next.ok()) << next.status().message();
        write(*next, more, seed + 3);
        reference.add(second, seed + 3, 0);
      }
      write(*step, mine, seed);
      reference.add(declared, seed, 0);
      ASSERT_EQ(opened->close().message(), "");
    }();
    return reference;
  }

  void one_case(Context& weir, const std::string& files, std::uint32_t file_count, std::uint64_t seed) {
    Random random{seed};
    const Reference reference = write_set(weir, random, seed, {{"plan.files", files}});
    if (rank() == 0) {
      const auto in_directory = std::filesystem::directory_iterator{directory()};
      ASSERT_EQ(static_cast<std::uint32_t>(std::distance(begin(in_directory), end(in_directory))), file_count + 1);
    }
    for (const auto& [readers, communicator] : readers_) {
      const RandomCase wanted = reference.wanted(random, readers);
      Settings reading = circumstances(random, reference.bytes.size());
      if (communicator == MPI_COMM_NULL) continue;
      SCOPED_TRACE(fmt::format("{} readers", readers));
      int reader = 0;
      MPI_Comm_rank(communicator, &reader);
      read(context_for(readers, communicator), reader, path(), wanted, reading, reference);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void one_case_on_nodes(Context& weir, std::uint64_t seed) {
    Random random{seed};
    const Settings on_nodes{{"storage.tier", "node"}, {"memory.node_directory", directory() + "/node{node}"}};
    const Reference reference = write_set(weir, random, seed, on_nodes);
    const RandomCase wanted = reference.wanted(random, ranks());
    Settings reading = circumstances(random, reference.bytes.size());
    reading.insert(on_nodes.begin(), on_nodes.end());
    read(weir, rank(), path(), wanted, reading, reference);
    Settings draining = on_nodes;
    draining["plan.memory"] = std::to_string(4096 * between(random, 1, 4));
    auto drain = weir.drain(path(), draining);
    ASSERT_TRUE(drain.ok()) << drain.status().message();
    ASSERT_EQ(drain->wait().message(), "");
    if (rank() == 0) {
      const Bytes found = contents(path());
      const auto behind = std::find(reference.written.rbegin(), reference.written.rend(), 1).base();
      ASSERT_EQ(found.size(), static_cast<std::size_t>(behind - reference.written.begin()));
      Bytes expected(found.size(), 0);
      for (std::size_t i = 0; i < found.size(); ++i)
        if (reference.written[i]) expected[i] = reference.bytes[i];
      ASSERT_EQ(first_difference(found, expected), found.size());
      std::filesystem::remove(path());
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  [[nodiscard]] std::string path() const { return directory() + "/data"; }

  std::map<int, MPI_Comm> readers_;
  std::map<int, std::unique_ptr<Context>> contexts_;

 private:
  Context& context_for(int readers, MPI_Comm communicator) {
    auto& context = contexts_[readers];
    if (!context) context = std::make_unique<Context>(communicator, Settings{{"machine.ranks_per_node", "2"}});
    return *context;
  }
};

TEST_F(RandomSets, are_read_by_any_number_of_ranks_as_the_reference_says) {
  const std::uint64_t count = cases(160), first = from_environment("RANDOM_SEED", 1);
  for (const int per_node : {0, 1, 2, 3}) {
    const int nodes = per_node == 0 ? 1 : (ranks() + per_node - 1) / per_node;
    const std::pair<const char*, int> ways[] = {{"rank", ranks()}, {"node", nodes}, {"nodes:2", (nodes + 1) / 2}};
    Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", std::to_string(per_node)}}};
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const auto& [files, count] = ways[seed % 3];
      const std::string what = fmt::format("seed {}, {} ranks, {} a node, files {}", seed, ranks(), per_node, files);
      SCOPED_TRACE(what);
      one_case(weir, files, static_cast<std::uint32_t>(count), seed);
      ASSERT_FALSE(any_rank(HasFatalFailure())) << what;
    }
  }
  contexts_.clear();
}

TEST_F(RandomSets, on_storage_of_nodes_are_read_and_drained_as_the_reference_says) {
  const std::uint64_t count = cases(80), first = from_environment("RANDOM_SEED", 1);
  for (const int per_node : {0, 1, 3}) {
    Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", std::to_string(per_node)}}};
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const std::string what = fmt::format("seed {}, {} ranks, {} a node", seed, ranks(), per_node);
      SCOPED_TRACE(what);
      one_case_on_nodes(weir, seed);
      ASSERT_FALSE(any_rank(HasFatalFailure())) << what;
    }
  }
}

}  // namespace
}  // namespace weir::testing

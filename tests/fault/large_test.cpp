#include <fcntl.h>
#include <sys/mman.h>

#include <climits>

#include "fault/harness.hpp"

// Numbers that do not fit into 31 or 32 bits.
namespace weir::testing {
namespace {

/// Memory that is there in name only: it reads as zeros and costs almost nothing.
class Emptiness {
 public:
  explicit Emptiness(std::uint64_t size)
      : size_{size},
        data_{mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)} {
    if (data_ != MAP_FAILED) madvise(data_, size_, MADV_HUGEPAGE);
  }
  ~Emptiness() { munmap(data_, size_); }
  [[nodiscard]] bool there() const { return data_ != MAP_FAILED; }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  std::uint64_t size_;
  void* data_;
};

class LargeNumbers : public FaultWorld {
 protected:
  void write_null(const Settings& settings, const Declaration& declaration, std::uint64_t mine, std::uint64_t total) {
    Watchdog::watch("more than 2 GiB a rank", 100);
    const Emptiness memory{std::max<std::uint64_t>(mine, 1)};
    ASSERT_TRUE(memory.there());
    Context weir{MPI_COMM_WORLD, settings};
    auto opened = weir.create("nothing", {{"storage.kind", "null"}});
    ASSERT_EQ(same(opened), Code::ok) << opened.status().message();
    auto step = opened->declare(declaration);
    ASSERT_EQ(same(step), Code::ok) << step.status().message();
    EXPECT_EQ(step->write(0, memory.data(), mine).message(), "");
    const Status status = step->finish();
    EXPECT_EQ(same(status), Code::ok) << status.message();
    EXPECT_EQ(status.bytes(), total);
    EXPECT_EQ(step->report().bytes, mine);
    EXPECT_EQ(opened->close().message(), "");
  }
};

constexpr std::uint64_t beyond = (std::uint64_t{2} << 30) + (4 << 20) + 5;

TEST_F(LargeNumbers, more_than_2_GiB_of_one_variable_a_rank_are_written_directly) {
  const auto r = static_cast<std::uint64_t>(rank()), n = static_cast<std::uint64_t>(ranks());
  write_null({{"plan.mode", "direct"}}, {{r * beyond, beyond, 0, 1}}, beyond, n * beyond);
  // More than INT_MAX elements, as a box and as a run of single bytes.
  const std::uint64_t elements = std::uint64_t{INT_MAX} + 77;
  Declaration box;
  box.variable(Box{{n, elements}, {r, 0}, {1, elements}, 1, 0});
  write_null({{"plan.mode", "direct"}}, box, elements, n * elements);
  write_null({{"plan.mode", "direct"}}, {{r * elements, 1, 1, elements}}, elements, n * elements);
}

TEST_F(LargeNumbers, more_than_2_GiB_of_one_variable_on_a_rank_are_aggregated_on_its_node) {
  const bool mine = rank() == ranks() - 1;
  write_null({{"plan.mode", "aggregate"}}, {{12345, mine ? beyond : 0, 0, 1}}, mine ? beyond : 0, beyond);
}

TEST_F(LargeNumbers, more_than_2_GiB_of_one_variable_on_a_rank_are_aggregated_on_another_node) {
  if (ranks() == 1) GTEST_SKIP() << "one rank has no other node";
  const bool mine = rank() == ranks() - 1;
  const Settings settings{{"plan.mode", "aggregate"}, {"plan.aggregators", "1"}, {"machine.ranks_per_node", "1"}};
  write_null(settings, {{12345, mine ? beyond : 0, 0, 1}}, mine ? beyond : 0, beyond);
}

TEST_F(LargeNumbers, offsets_beyond_32_bits_hold_what_belongs_there) {
  const std::uint64_t far[] = {(std::uint64_t{1} << 31) - 100, (std::uint64_t{1} << 32) - 100,
                               (std::uint64_t{5} << 32) + 12345};
  for (const char* per_node : {"0", "1", "2"})
    for (const char* mode : {"direct", "aggregate"}) {
      SCOPED_TRACE(fmt::format("{}, {} ranks a node", mode, per_node));
      Watchdog::watch(fmt::format("offsets beyond 32 bits, {}", mode));
      Context weir{MPI_COMM_WORLD, {{"machine.ranks_per_node", per_node}, {"plan.mode", mode}}};
      Part part;
      const auto r = static_cast<std::uint64_t>(rank()), n = static_cast<std::uint64_t>(ranks());
      for (const std::uint64_t at : far) part.variables.push_back({{at + r * 50, 50, n * 50, 4}});
      {
        auto opened = weir.create(file("sparse"));
        auto step = opened->declare(part.declaration());
        ASSERT_EQ(same(step), Code::ok) << step.status().message();
        const auto data = part.all_data(7);
        EXPECT_EQ(give(*step, data).message(), "");
        const Status status = step->finish();
        EXPECT_EQ(status.message(), "");
        EXPECT_EQ(status.bytes(), n * 600);
        EXPECT_EQ(opened->close().message(), "");
      }
      const int fd = open(file("sparse").c_str(), O_RDONLY);
      for (const std::uint64_t at : far) {
        Bytes found(n * 200);
        EXPECT_EQ(pread(fd, found.data(), found.size(), static_cast<off_t>(at)), static_cast<ssize_t>(found.size()));
        for (std::uint64_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], pattern(7, at + i)) << at + i;
      }
      close(fd);
      auto opened = weir.open(file("sparse"));
      auto step = opened->declare(part.declaration());
      std::vector<Bytes> data(3, Bytes(200));
      EXPECT_EQ(take(*step, data).message(), "");
      EXPECT_EQ(step->finish().message(), "");
      EXPECT_TRUE(data == part.all_data(7));
      EXPECT_EQ(opened->close().message(), "");
    }
}

}  // namespace
}  // namespace weir::testing

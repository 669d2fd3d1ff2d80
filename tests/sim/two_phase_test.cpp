#include "two_phase.hpp"

#include <gtest/gtest.h>

#include "machine/stored.hpp"

namespace weir::sim {
namespace {

constexpr std::uint64_t particles = 1000, ranks = 8;

/// Bytes that the file system carries.
std::uint64_t stored_bytes(const std::string& layout, bool reads_holes) {
  const Machine machine = find_machine("flat 4 link 1GBps ranks 2 storage lustre 1GBps").value();
  const Job job{.machine = &machine,
                .nodes = 4,
                .ranks_per_node = 2,
                .workload = "hacc",
                .parameters = {{"layout", layout}, {"particles", std::to_string(particles)}}};
  TwoPhase scheme;
  scheme.aggregator_nodes = TwoPhase::first_ranks(2, 4, true);
  scheme.buffer_bytes = 100000;
  scheme.reads_holes = reads_holes;
  Schedule schedule{machine};
  schedule_two_phase(schedule, job, scheme);
  return schedule.bytes_by_resource().at(machine.links() - 1);
}

TEST(TwoPhase, aggregators_are_the_first_nodes_or_spread_over_all) {
  EXPECT_EQ(TwoPhase::first_ranks(3, 9, false), (std::vector{0, 1, 2}));
  EXPECT_EQ(TwoPhase::first_ranks(3, 9, true), (std::vector{0, 3, 6}));
  EXPECT_EQ(TwoPhase::first_ranks(5, 2, false), (std::vector{0, 1}));
}

TEST(TwoPhase, stores_every_byte_once_where_calls_leave_no_holes) {
  EXPECT_EQ(stored_bytes("soa", true), particles * ranks * 38);
  EXPECT_EQ(stored_bytes("soa", false), particles * ranks * 38);
}

TEST(TwoPhase, reads_and_writes_what_a_call_spans_where_it_leaves_holes) {
  EXPECT_EQ(stored_bytes("aos", false), particles * ranks * 38);
  EXPECT_GT(stored_bytes("aos", true), 9 * particles * ranks * 38);
}

}  // namespace
}  // namespace weir::sim

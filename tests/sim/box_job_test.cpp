#include "box_job.hpp"

#include <gtest/gtest.h>

#include "worker_process.hpp"

namespace weir::sim {
namespace {

constexpr double file_bytes = 16 * 25000 * 38.0;

BoxJob hacc(const char* topology, PlanLimits::Prefer mode, Direction direction) {
  BoxJob job;
  job.shape = {topology, *box::parse_rates("100mbit")};
  job.stripe = 64 << 10;
  job.machine = box::Cluster::make(job.shape).machine();
  job.storage = {.kind = "posix", .file_system = "fuse", .stripe = 64 << 10, .local = false};
  job.workload = "hacc";
  job.parameters = {{"particles", "25000"}};
  job.ranks = 16;
  job.direction = direction;
  job.limits.mode = mode;
  return job;
}

double wire_s(const BoxJob& job, int storage_hosts) {
  return file_bytes / (storage_hosts * job.shape.rates.of_storage.bytes_per_s * box::payload_part);
}

TEST(BoxJob, takes_at_least_the_time_of_the_storage_links_and_not_much_more) {
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid";
  for (const Direction direction : {Direction::write, Direction::read})
    for (const auto mode : {PlanLimits::Prefer::direct, PlanLimits::Prefer::aggregate})
      for (const auto& [topology, storage_hosts] : {std::pair{"torus", 2}, {"torus:1", 1}, {"star:4:2", 2}}) {
        const BoxJob job = hacc(topology, mode, direction);
        const BoxOutcome outcome = simulate_in_box(job);
        EXPECT_EQ(outcome.mode == Mode::direct, mode == PlanLimits::Prefer::direct);
        EXPECT_GE(outcome.seconds, wire_s(job, storage_hosts)) << topology;
        EXPECT_LE(outcome.seconds, 2 * wire_s(job, storage_hosts)) << topology;
      }
}

TEST(BoxJob, sends_what_lies_behind_one_gateway_through_it) {
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid";
  BoxJob job = hacc("torus", PlanLimits::Prefer::direct, Direction::write);
  const double both = simulate_in_box(job).seconds;
  job.stripe = 1 << 30;  // all of the file on one storage host
  EXPECT_GE(simulate_in_box(job).seconds, 1.9 * both);
}

TEST(BoxJob, waits_for_calls_that_the_storage_takes_one_after_another) {
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid";
  BoxJob job = hacc("torus", PlanLimits::Prefer::direct, Direction::write);
  job.parameters = {{"particles", "100"}};
  job.machine.storage.call = {1e-3, Origin::assumed, ""};
  EXPECT_GE(simulate_in_box(job).seconds, 16 * 9 * 1e-3);  // a call for each array of each rank
}

TEST(BoxJob, has_ranks_in_blocks_also_where_they_are_not_even) {
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid";
  BoxJob job = hacc("torus", PlanLimits::Prefer::aggregate, Direction::write);
  job.ranks = 11;
  EXPECT_GT(simulate_in_box(job).seconds, 0);
}

}  // namespace
}  // namespace weir::sim

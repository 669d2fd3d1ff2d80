#include "library_run.hpp"

#include <gtest/gtest.h>

#include "experiment.hpp"
#include "worker_process.hpp"

namespace weir::sim {
namespace {

TEST(Library, moves_the_bytes_of_its_plan_over_every_link_in_the_time_of_its_flows) {
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid";
  const Experiment experiment = find_experiment("library");
  for (const Claim& claim : experiment.run(experiment.assumptions, Scope::only_claims).claims)
    EXPECT_TRUE(claim.holds) << claim.text;
}

TEST(Library, reads_what_it_wrote_on_many_ranks) {
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid";
  const LibraryRun run = run_library({"torus 4x2x2 link 1GBps latency 1us gateway every 8 bridges 1 bridge 1GBps",
                                      16,
                                      2,
                                      "hacc",
                                      {{"layout", "aos"}, {"particles", "500"}},
                                      {{"plan.mode", "aggregate"}}});
  EXPECT_GT(run.write_s, 32 * 500 * 38 / 2e9);  // two gateways
  EXPECT_GT(run.read_s, 32 * 500 * 38 / 2e9);
}

TEST(Library, tells_what_is_wrong) {
  if (!has_simulator()) GTEST_SKIP() << "built without SimGrid";
  EXPECT_THROW(run_library({"flat 2 link 1GBps", 2, 1, "no such workload", {}, {}}), std::exception);
}

}  // namespace
}  // namespace weir::sim

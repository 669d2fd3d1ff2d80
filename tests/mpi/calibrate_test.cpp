#include "engine/calibrate.hpp"

#include <fstream>

#include "engine/context.hpp"
#include "engine/detect_machine.hpp"
#include "mpi/world.hpp"

namespace weir::testing {
namespace {

class Calibrate : public World {
 protected:
  static Team& team_of(Context& context) { return *context.impl()->team; }

  [[nodiscard]] CalibrateOptions options(double seconds = 1) const {
    CalibrateOptions made;
    made.seconds = seconds;
    made.storage = directory();
    made.cache = directory() + "/cache";
    return made;
  }
  static JoinedNodes nodes_of(Context& context, const std::string& storage) {
    return detect_nodes(team_of(context), detect_options(context.impl()->settings, storage)).value();
  }
  static bool same_everywhere(const Calibration& calibration) {
    std::string mine = calibration_text(calibration), first = mine;
    std::uint64_t size = first.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    first.resize(size);
    MPI_Bcast(first.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
    return !any_rank(first != mine);
  }
};

TEST_F(Calibrate, gives_positive_figures_in_time_the_same_on_every_rank) {
  for (const int per_node : {0, 1, 2}) {
    Context context{MPI_COMM_WORLD, {{"machine.ranks_per_node", std::to_string(per_node)},
                                     {"memory.node_directory", directory()}}};
    const JoinedNodes nodes = nodes_of(context, directory());
    CalibrateOptions asked = options();
    int told = 0;
    double last = -1;
    asked.progress = [&](std::string_view, double done) {
      EXPECT_GT(done, last);
      EXPECT_LT(done, 1);
      last = done;
      ++told;
    };
    const double start = MPI_Wtime();
    auto made = calibrate(team_of(context), nodes, asked);
    const double took = MPI_Wtime() - start;
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE(made->warnings.empty()) << made->warnings.front();
    // A machine that is busy with other things takes longer for single transfers.
    EXPECT_LT(took, 4 * asked.seconds);
    EXPECT_TRUE(same_everywhere(made->calibration));
    EXPECT_EQ(told, rank() == 0 ? 3 + static_cast<int>(banks_of(nodes.common).size()) : 0);
    for (const Measurement& m : made->calibration.measurements) {
      EXPECT_GT(m.value, 0) << m.name;
      EXPECT_GT(m.repetitions, 0) << m.name;
    }
    const Calibration& found = made->calibration;
    EXPECT_NE(found.find("bank.dram.write"), nullptr);
    EXPECT_NE(found.find("bank." + directory() + ".write"), nullptr);
    EXPECT_NE(found.find("storage.write_durable"), nullptr);
    EXPECT_EQ(found.find("node.latency") != nullptr, most_ranks_on_a_node(team_of(context)) > 1);
    EXPECT_EQ(found.find("network.bandwidth_of_all") != nullptr, nodes.nodes > 1);

    Machine machine = machine_of(nodes, per_node);
    apply(machine, found);
    EXPECT_EQ(machine.bank("dram")->write.origin, Origin::measured);
    EXPECT_EQ(machine.storage.write.origin, Origin::measured);
    if (nodes.nodes > 1) {
      EXPECT_EQ(machine.topology->classes()[0].latency.origin, Origin::measured);
    }
  }
}

TEST_F(Calibrate, a_second_run_loads_what_the_first_one_stored) {
  Context context{MPI_COMM_WORLD};
  const JoinedNodes nodes = nodes_of(context, directory());
  auto first = load_or_calibrate(team_of(context), nodes, options(0.3));
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(first->loaded);
  auto second = load_or_calibrate(team_of(context), nodes, options(0.3));
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->loaded);
  EXPECT_EQ(second->calibration, first->calibration);
  EXPECT_TRUE(same_everywhere(second->calibration));
}

TEST_F(Calibrate, a_damaged_store_is_told_and_replaced) {
  Context context{MPI_COMM_WORLD};
  const JoinedNodes nodes = nodes_of(context, directory());
  ASSERT_TRUE(load_or_calibrate(team_of(context), nodes, options(0.3)).ok());
  const std::string path = calibration_path(
      options().cache, CalibrationKey::of(nodes, most_ranks_on_a_node(team_of(context)), directory()));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) std::ofstream{path, std::ios::app} << "more = 1\n";
  auto again = load_or_calibrate(team_of(context), nodes, options(0.3));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_FALSE(again->loaded);
  if (rank() == 0) {
    ASSERT_EQ(again->warnings.size(), 1u);
    EXPECT_NE(again->warnings[0].find("checksum"), std::string::npos) << again->warnings[0];
  }
  EXPECT_TRUE(load_or_calibrate(team_of(context), nodes, options(0.3))->loaded);
}

TEST_F(Calibrate, goes_on_without_storage_that_cannot_be_written) {
  Context context{MPI_COMM_WORLD};
  const JoinedNodes nodes = nodes_of(context, directory());
  CalibrateOptions asked = options(0.3);
  asked.storage = directory() + "/missing";
  auto made = calibrate(team_of(context), nodes, asked);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->calibration.find("storage.write"), nullptr);
  EXPECT_NE(made->calibration.find("bank.dram.write"), nullptr);
  if (rank() == 0) {
    EXPECT_EQ(made->warnings.size(), 1u);
  }
}

TEST_F(Calibrate, no_time_is_everybodys_error) {
  Context context{MPI_COMM_WORLD};
  const JoinedNodes nodes = nodes_of(context, directory());
  EXPECT_EQ(calibrate(team_of(context), nodes, options(0)).status().code(), Code::invalid);
}

TEST_F(Calibrate, is_used_by_contexts_that_detect_their_machine) {
  const Settings settings{{"machine.description", "detect"}, {"machine.calibration", directory() + "/cache"}};
  {
    Context context{MPI_COMM_WORLD, settings};
    EXPECT_NE(context.impl()->machine->bank("dram")->read.origin, Origin::measured);
    CalibrateOptions asked = options(0.2);
    asked.storage = ".";
    ASSERT_TRUE(load_or_calibrate(team_of(context), nodes_of(context, "."), asked).ok());
  }
  Context context{MPI_COMM_WORLD, settings};
  EXPECT_EQ(context.impl()->machine->bank("dram")->read.origin, Origin::measured);
}

TEST_F(Calibrate, is_trusted_by_contexts_on_several_nodes_without_being_asked_for) {
  if (ranks() == 1) return;
  const Settings settings{{"machine.ranks_per_node", "1"}, {"machine.calibration", directory() + "/cache"}};
  {
    Context context{MPI_COMM_WORLD, settings};
    EXPECT_FALSE(context.impl()->trusts_figures);
    CalibrateOptions asked = options(0.2);
    asked.storage = ".";
    ASSERT_TRUE(load_or_calibrate(team_of(context), nodes_of(context, "."), asked).ok());
  }
  Context context{MPI_COMM_WORLD, settings};
  EXPECT_TRUE(context.impl()->trusts_figures);
  EXPECT_EQ(context.impl()->machine->storage.write.origin, Origin::measured);
}

}  // namespace
}  // namespace weir::testing

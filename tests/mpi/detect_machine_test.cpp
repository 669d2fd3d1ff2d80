#include "engine/detect_machine.hpp"

#include <cstdlib>

#include "engine/context.hpp"
#include "mpi/world.hpp"

namespace weir::testing {
namespace {

class DetectMachine : public World {
 protected:
  static Team& team_of(Context& context) { return *context.impl()->team; }

  /// Whether all ranks have the same bytes.
  static bool same_everywhere(const JoinedNodes& nodes) {
    Writer writer;
    store(writer, nodes);
    std::vector<std::byte> first = writer.data();
    std::uint64_t size = first.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    first.resize(size);
    MPI_Bcast(first.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
    return !any_rank(first != writer.data());
  }
};

TEST_F(DetectMachine, is_the_same_on_every_rank_and_pretended_nodes_count) {
  for (const int per_node : {0, 1, 2, 3}) {
    Context context{MPI_COMM_WORLD, {{"machine.ranks_per_node", std::to_string(per_node)},
                                     {"memory.node_directory", "/dev/shm"}}};
    const auto options = detect_options(context.impl()->settings, directory());
    auto nodes = detect_nodes(team_of(context), options);
    ASSERT_TRUE(nodes.ok()) << nodes.status().message();
    EXPECT_TRUE(same_everywhere(*nodes));
    auto machine = detect_machine(team_of(context), options);
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    const int expected = per_node == 0 ? 1 : (ranks() + per_node - 1) / per_node;
    EXPECT_EQ(machine->nodes(), expected);
    EXPECT_EQ(nodes->systems, 1);
    EXPECT_EQ(machine->ranks_per_node, per_node == 0 ? ranks() : std::min(per_node, ranks()));
    EXPECT_NE(machine->bank("dram"), nullptr);
    EXPECT_NE(machine->bank("/dev/shm"), nullptr);
    EXPECT_TRUE(machine->storage.block.known());
  }
}

TEST_F(DetectMachine, pretended_nodes_divide_the_memory) {
  Context whole{MPI_COMM_WORLD}, parts{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}}};
  const DetectOptions options{.hardware = "pack:1 [numa(memory=64GB)] core:2 pu:1"};
  auto one = detect_machine(team_of(whole), options), many = detect_machine(team_of(parts), options);
  ASSERT_TRUE(one.ok() && many.ok());
  EXPECT_DOUBLE_EQ(one->bank("dram")->capacity.value, 64e9);
  EXPECT_DOUBLE_EQ(many->bank("dram")->capacity.value, 64e9 / ranks());
}

TEST_F(DetectMachine, a_bank_that_one_node_lacks_is_left_out_everywhere) {
  Context context{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}}};
  DetectOptions options;
  if (rank() != ranks() - 1 || ranks() == 1) options.node_directories = {directory()};
  auto machine = detect_machine(team_of(context), options);
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->bank(directory()) != nullptr, ranks() == 1);
}

TEST_F(DetectMachine, a_node_that_cannot_look_is_everybodys_error) {
  Context context{MPI_COMM_WORLD, {{"machine.ranks_per_node", "1"}}};
  DetectOptions options;
  if (rank() == ranks() - 1) options.hardware = "nonsense";
  const auto machine = detect_machine(team_of(context), options);
  EXPECT_EQ(machine.status().code(), Code::invalid);
  EXPECT_NE(machine.status().message().find("nonsense"), std::string::npos) << machine.status().message();
  EXPECT_TRUE(detect_machine(team_of(context), {}).ok());
}

}  // namespace
}  // namespace weir::testing

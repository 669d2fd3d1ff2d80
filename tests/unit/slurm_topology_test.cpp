#include "machine/slurm_topology.hpp"

#include <gtest/gtest.h>

#include <random>

#include "machine/host_list.hpp"
#include "topology_checks.hpp"

namespace weir {
namespace {

using Names = std::vector<std::string>;

Names expanded(std::string_view text) {
  std::string why;
  return expand_host_list(text, why).value_or(Names{why});
}

TEST(HostList, brackets_stand_for_numbers) {
  EXPECT_EQ(expanded("n"), (Names{"n"}));
  EXPECT_EQ(expanded("n[0-3,7]"), (Names{"n0", "n1", "n2", "n3", "n7"}));
  EXPECT_EQ(expanded("n[08-11]"), (Names{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expanded("a,b[1,2]-x,c"), (Names{"a", "b1-x", "b2-x", "c"}));
  EXPECT_EQ(expanded("r[0-1]n[0-1]"), (Names{"r0n0", "r0n1", "r1n0", "r1n1"}));
}

TEST(HostList, malformed_ones_are_refused) {
  std::string why;
  for (const char* text :
       {"", ",", "n,", "n[", "n]", "n[]", "n[1", "n[3-1]", "n[a-b]", "n[1-]", "n[-1]", "n[1,,2]", "n[0-1000000]",
        "n[0-999]m[0-9999]", "n[1-2-3]", "n[0-18446744073709551615]", "n[0-99999999999999999999]"}) {
    why.clear();
    EXPECT_FALSE(expand_host_list(text, why)) << text;
    EXPECT_FALSE(why.empty()) << text;
  }
}

Result<SlurmTopology> read(const std::string& text) {
  return read_slurm_topology(text, "topology.conf", {LinkClass{"link", {}, {}}});
}

TEST(SlurmTopology, gives_a_tree_whose_nodes_are_neighbours_below_their_switch) {
  SlurmTopology topology = read(R"(# two leaves below a top
SwitchName=top Switches=s[0-1]
SwitchName=s1 Nodes=b[0-1]   # the second leaf

switchname=s0 NODES=a[0-1],a7 LinkSpeed=100 \
)")
                               .value();
  EXPECT_EQ(topology.nodes, (Names{"a0", "a1", "a7", "b0", "b1"}));
  EXPECT_EQ(topology.switches, (Names{"top", "s0", "s1"}));
  EXPECT_TRUE((*topology.tree == TreeTopology{5, {6, 6, 6, 7, 7, -1, 5, 5}, {LinkClass{"link", {}, {}}}}));
  EXPECT_EQ(topology.tree->hops(0, 2), 2);
  EXPECT_EQ(topology.tree->hops(0, 3), 4);
  expect_sound(*topology.tree);
}

TEST(SlurmTopology, one_switch_is_enough_and_lines_may_be_continued) {
  EXPECT_EQ(read("SwitchName=s \\\n  Nodes=n[1-3]\r\n").value().nodes, (Names{"n1", "n2", "n3"}));
}

TEST(SlurmTopology, malformed_files_are_refused_with_the_line) {
  struct Wrong {
    const char* text;
    const char* place;
    const char* reason;
  };
  for (const auto& [text, place, reason] : std::vector<Wrong>{
           {"", ":1:", "no switches"},
           {"# nothing\n", ":1:", "no switches"},
           {"SwitchName=a Nodes=n1\nNodes=n2\n", ":2:", "no SwitchName"},
           {"SwitchName=a\n", ":1:", "nothing is below the switch 'a'"},
           {"SwitchName=a Nodes=\n", ":1:", "a name is empty"},
           {"SwitchName=a Node=n1\n", ":1:", "did you mean Nodes=...?"},
           {"SwitchName a\n", ":1:", "is not of the form key=value"},
           {"SwitchName=a Nodes=n[1\n", ":1:", "a bracket without its other half"},
           {"SwitchName=a Nodes=n1 Nodes=n2\n", ":1:", "a second Nodes"},
           {"SwitchName=a[0-1] Nodes=n1\n", ":1:", "several names for a switch"},
           {"SwitchName=a Nodes=n1\n\nSwitchName=a Nodes=n2\n", ":3:", "the switch 'a' is already in line 1"},
           {"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n", ":2:", "the node 'n1' is already below 'a'"},
           {"SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n", ":2:", "'a' and 'b' are both at the top"},
           {"SwitchName=a Nodes=n1\nSwitchName=t Switches=a,b\n", ":2:", "no line for the switch 'b'"},
           {"SwitchName=a Nodes=n1\nSwitchName=t Switches=a\nSwitchName=u Switches=a\n",
            ":3:", "the switch 'a' is already below 't'"},
           {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", ":1:", "every switch is below another one"},
           {"SwitchName=t Nodes=n\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n", ":2:", "stands above itself"},
       }) {
    const Status status = read(text).status();
    EXPECT_EQ(status.code(), Code::invalid) << text;
    EXPECT_NE(status.message().find(std::string{"topology.conf"} + place), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(reason), std::string::npos) << text << status.message();
  }
}

TEST(SlurmTopology, random_bytes_and_pieces_never_crash) {
  std::mt19937 random{2};
  const std::vector<std::string> pieces{"SwitchName=", "Nodes=", "Switches=", "a", "b",    "[0-2]", ",", "\n",
                                        " ",           "\\",     "#",         "[", "\xff", "=",     "]", "LinkSpeed="};
  for (int k = 0; k < 5000; ++k) {
    std::string text;
    for (unsigned count = random() % 25; count > 0; --count) text += pieces[random() % pieces.size()];
    const Result<SlurmTopology> topology = read(text);
    EXPECT_EQ(topology.ok(), topology.status().message().empty());
  }
}

}  // namespace
}  // namespace weir

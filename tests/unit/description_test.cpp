#include "machine/description.hpp"

#include <gtest/gtest.h>

#include <random>

#include "machine/stored.hpp"
#include "random_machine.hpp"

namespace weir {
namespace {

std::string message(const std::string& text) {
  const Result<Machine> machine = read_machine(text, "m.toml");
  EXPECT_FALSE(machine.ok()) << text;
  EXPECT_EQ(machine.status().code(), Code::invalid);
  return machine.status().message();
}

const std::string head = "name = 'm'\n";
const std::string flat = head + "topology = {kind = 'flat', nodes = 4}\n";

TEST(Description, needs_little) {
  Machine machine = read_machine(flat, "m.toml").value();
  EXPECT_EQ(machine.name, "m");
  EXPECT_EQ(machine.nodes(), 4);
  EXPECT_EQ(machine.ranks_per_node, 1);
  EXPECT_EQ(machine.group_size(), 4);
  EXPECT_FALSE(machine.topology->classes()[0].bandwidth.known());
  EXPECT_FALSE(machine.experiment);
}

TEST(Description, an_origin_that_is_not_named_is_configured) {
  Machine machine =
      read_machine(flat + "[storage]\nkind = 'x'\nwrite = '2 GB/s'\nread = '3 GB/s (measured: today)'\n", "m.toml")
          .value();
  EXPECT_EQ(machine.storage.write, (Bandwidth{2e9, Origin::configured, ""}));
  EXPECT_EQ(machine.storage.read, (Bandwidth{3e9, Origin::measured, "today"}));
  EXPECT_EQ(machine.storage.latency, Latency{});
}

TEST(Description, classes_of_links_keep_the_order_in_which_they_are_written) {
  Machine machine = read_machine(head +
                                     "[topology]\nkind = 'fat tree'\narity = [4, 3]\n"
                                     "[topology.links.z]\nbandwidth = '1 GB/s'\n[topology.links.a]\n",
                                 "m.toml")
                        .value();
  EXPECT_EQ(machine.topology->classes()[0].name, "z");
  EXPECT_EQ(machine.topology->classes()[1].name, "a");
}

struct Malformed {
  std::string text;
  const char* place;  ///< "line:column", or "line:"
  const char* reason;
};

std::string grid(const std::string& rest) { return head + "[topology]\nkind = 'torus'\n" + rest; }
std::string topology(const std::string& kind, const std::string& rest) {
  return head + "[topology]\nkind = '" + kind + "'\n" + rest;
}

void expect_refused(const std::vector<Malformed>& cases) {
  for (const auto& [text, place, reason] : cases) {
    const std::string told = message(text);
    EXPECT_NE(told.find(std::string{"m.toml:"} + place), std::string::npos) << text << told;
    EXPECT_NE(told.find(reason), std::string::npos) << text << told;
    EXPECT_NE(told.find("\n      "), std::string::npos) << "nothing to do: " << told;
  }
}

TEST(Description, malformed_keys_and_values_are_refused_with_their_place) {
  expect_refused({
      {"", "1:", "no 'name' in the description"},
      {"name", "1:", ""},
      {"name = ", "1:", ""},
      {"name = 'm'\nname = 'n'\n", "2:", ""},
      {head, "1:", "no table [topology]"},
      {"name = 7\n", "1:8", "'name' in the description is a whole number"},
      {"name = ''\n", "1:8", "'name' in the description is empty"},
      {"nam = 'm'\n", "1:1", "unknown key 'nam' in the description"},
      {"nam = 'm'\n", "1:1", "did you mean 'name'?"},
      {head + "topology = 'torus'\n", "2:12", "'topology' in the description is a text"},
      {head + "ranks_per_node = 0\n", "2:18", "0 for 'ranks_per_node'"},
      {head + "ranks_per_node = -1\n", "2:18", "-1 for 'ranks_per_node'"},
      {head + "ranks_per_node = 1.5\n", "2:18", "is a number with a fraction"},
      {head + "ranks_per_node = true\n", "2:18", "is true or false"},
      {head + "ranks_per_node = 2020-01-01\n", "2:18", "is a date or time"},
      {head + "ranks_per_node = 4294967296\n", "2:18", "4294967296 for 'ranks_per_node'"},
      {"ranks_per_node = 2147483647\n" + flat, "1:1", "8589934588 ranks"},
      {flat + "bank = 3\n", "3:8", "'bank' in the description is a whole number"},
      {flat + "bank = [3]\n", "3:9", "a bank is not a table"},
      {flat + "[storage]\n", "3:1", "no 'kind' in [storage]"},
      {flat + "[storage]\nkid = 'gpfs'\n", "4:1", "did you mean 'kind'?"},
      {flat + "[storage]\nkind = 'x'\nwrite = 5\n", "5:9", "is a whole number"},
      {flat + "[storage]\nkind = 'x'\nwrite = '5'\n", "5:9", "'5' is not a number of bytes per second"},
      {flat + "[storage]\nkind = 'x'\nwrite = '5 XB/s'\n", "5:9", "has an unknown unit"},
      {flat + "[storage]\nkind = 'x'\nblock = '5'\n", "5:9", "has no unit"},
      {flat + "[storage]\nkind = 'x'\nblock = '-5 kB'\n", "5:9", "is not a number from 0 on"},
      {flat + "[storage]\nkind = 'x'\nstripe = '0 B'\n", "5:10", "'stripe' in [storage] is 0"},
      {flat + "[storage]\nkind = 'x'\nlatency = '1 us (heard)'\n", "5:11", "'heard' is no origin"},
      {flat + "[storage]\nkind = 'x'\nlatency = '1 us (measured'\n", "5:11", "no closing one"},
      {flat + "[experiment.published]\ngreedy = 3\n", "4:10", "'greedy' in [experiment.published] is a whole number"},
      {flat + "[experiment.published]\ngreedy = '3 s'\n", "4:10", "is not a number of bytes per second"},
      {flat + "origin = 'assumed'\n", "3:10", "'origin' in the description is a text"},
      {flat + "[origin]\ntopology = 3\n", "4:12", "'topology' in [origin] is a whole number"},
      {flat + "[origin]\ntopology = 'heard: somewhere'\n", "4:", "'heard' is no origin"},
      {flat + "[origin]\ntoplogy = 'assumed'\n", "4:1", "did you mean 'topology'?"},
      {flat + "[origin]\nhops = 'assumed'\n", "4:1", "an origin of 'hops', of which nothing is said"},
      {flat + "[origin]\ngroup = 'assumed'\n", "4:1", "an origin of 'group'"},
      {flat + "[origin]\nbridges = 'assumed'\n", "4:1", "an origin of 'bridges'"},
      {flat + "[origin]\nexperiment = 'assumed'\n", "4:1", "an origin of 'experiment'"},
  });
}

TEST(Description, malformed_topologies_are_refused_with_their_place) {
  const std::string huge = "shape = [65536, 65536, 65536, 65536]\n";
  expect_refused({
      {head + "[topology]\nshape = [4]\n", "2:1", "no 'kind' in [topology]"},
      {topology("taurus", ""), "3:1", "did you mean 'torus'?"},
      {topology("", ""), "3:", "'kind' in [topology] is empty"},
      {grid(""), "2:1", "no 'shape' in [topology]"},
      {grid("shap = [4]\n"), "4:1", "did you mean 'shape'?"},
      {grid("shape = 4\n"), "4:9", "'shape' in [topology] is a whole number"},
      {grid("shape = []\n"), "4:1", "the shape is empty"},
      {grid("shape = [4, 0]\n"), "4:13", "0 for 'shape'"},
      {grid("shape = [4, -2]\n"), "4:13", "-2 for 'shape'"},
      {grid("shape = [4, 'x']\n"), "4:13", "'shape' in [topology] is a text"},
      {grid("shape = [65536, 16384]\n"), "4:1", "more than 2147483647 links"},
      {grid(huge), "4:1", "more than 2147483647 links"},
      {grid("shape = [2147483647, 2147483647, 2147483647]\n"), "4:1", "more than 2147483647 links"},
      {grid("shape = [1000000000]\n"), "2:2", "more than 2147483647 links with those to the storage"},
      {grid("shape = [4]\nnodes = 4\n"), "5:1", "unknown key 'nodes' in [topology]"},
      {grid("shape = [4]\nlinks = 3\n"), "5:9", "'links' in [topology] is a whole number"},
      {grid("shape = [4]\nlinks = {}\n"), "5:9", "no class in [topology.links]"},
      {grid("shape = [4]\n[topology.links]\nlink = 3\n"), "6:1", "'link' in [topology.links] is not a class"},
      {grid("shape = [4]\n[topology.links.'']\n"), "5:", "'' in [topology.links] cannot be a name"},
      {grid("shape = [4]\n[topology.links.'\"']\n"), "5:", "cannot be a name"},
      {grid("shape = [4]\n[topology.links.a]\n[topology.links.b]\n"), "5:", "2 classes of links where all links are"},
      {grid("shape = [4]\n[topology.links.a]\n[topology.links.a]\n"), "6:", ""},
      {grid("shape = [4]\n[topology.links.a]\nbandwith = '1 GB/s'\n"), "6:1", "did you mean 'bandwidth'?"},
      {topology("dragonfly", "groups = 2\nrows = 2\ncolumns = 2\n"), "2:1", "no 'nodes_per_router' in [topology]"},
      {topology("dragonfly", "groups = 2\nrows = 2\ncolumns = 2\nnodes_per_router = 1\nglobal_links = 0\n"), "8:16",
       "0 for 'global_links'"},
      {topology("dragonfly", "groups = 99999\nrows = 999\ncolumns = 999\nnodes_per_router = 1\n"), "4:1",
       "more than 2147483647 links"},
      {topology("dragonfly", "groups = 2\nrows = 2\ncolumns = 2\nnodes_per_router = 1\n[topology.links.node]\n"),
       "8:", "no class 'row' in [topology.links]"},
      {topology("fat tree", "arity = []\n"), "4:1", "no levels"},
      {topology("fat tree", "arity = [100000, 100000]\n"), "4:1", "more than 16777216 nodes and switches"},
      {topology("fat tree", "arity = [2]\n[topology.links.a]\n[topology.links.b]\n"), "5:", "2 classes of links for 1"},
      {topology("flat", "nodes = 2147483647\n"), "4:1", "more than 16777216 nodes and switches"},
      {topology("flat", "nodes = 0\n"), "4:9", "0 for 'nodes'"},
      {topology("tree", "nodes = 2\n"), "2:1", "no 'parents' in [topology]"},
      {topology("tree", "nodes = 3\nparents = [3, 3]\n"), "5:1", "2 parents for 3 nodes"},
      {topology("tree", "nodes = 2\nparents = [2, 2, -1, -1]\n"), "5:1", "both 2 and 3 are the top"},
      {topology("tree", "nodes = 2\nparents = [2, 3, 3, 2]\n"), "5:1", "nothing is the top"},
      {topology("tree", "nodes = 2\nparents = [2, 3, 4, 2, 3, -1]\n"), "5:1", "stands above itself"},
      {topology("tree", "nodes = 2\nparents = [2, 2, 2, -1]\n"), "5:1", "2 stands above itself"},
      {topology("tree", "nodes = 2\nparents = [1, 2, -1]\n"), "5:1", "the parent 1 of 0 is not a switch"},
      {topology("tree", "nodes = 2\nparents = [2, 9, -1]\n"), "5:1", "the parent 9 of 1 is not a switch"},
      {topology("tree", "nodes = 2\nparents = [2, -1, -1]\n"), "5:1", "node 1 has no switch"},
      {topology("tree", "nodes = 2\nparents = [2, -3, -1]\n"), "5:15", "-3 for 'parents'"},
      {topology("graph", "nodes = 2\nedges = [[0, 2]]\n"), "5:1", "goes to 2, which is not there"},
      {topology("graph", "nodes = 2\nedges = [[0, -1]]\n"), "5:14", "-1 for 'edges'"},
      {topology("graph", "nodes = 2\nedges = [[1, 1]]\n"), "5:1", "leads back to where it starts"},
      {topology("graph", "nodes = 2\nedges = [0, 1]\n"), "5:10", "an edge that does not have two ends"},
      {topology("graph", "nodes = 2\nedges = [[0]]\n"), "5:10", "an edge that does not have two ends"},
      {topology("graph", "nodes = 2\nedges = [[0, 1, 'x']]\n"), "5:17", "unknown class 'x' of an edge"},
      {topology("graph", "nodes = 2\nedges = [[0, 1, 5]]\n"), "5:17", "the class of an edge is not a text"},
      {topology("graph", "nodes = 2\nedges = [[0, 1]]\n[topology.links.a]\n[topology.links.b]\n"), "5:10",
       "an edge without a class"},
      {topology("graph", "nodes = 3\nedges = [[0, 1]]\n"), "5:1", "some nodes cannot reach each other"},
      {topology("graph", "nodes = 100000\nedges = [[0, 1]]\n"), "4:1", "entries in the routing table"},
      {topology("table", "hops = []\n"), "4:1", "no rows"},
      {topology("table", "hops = [0, 1]\n"), "4:9", "a row of 'hops' is not a list"},
      {topology("table", "hops = [[0, 1], [1]]\n"), "4:1", "row 1 has 1 entries instead of 2"},
      {topology("table", "hops = [[0, 1]]\n"), "4:1", "row 0 has 2 entries instead of 1"},
      {topology("table", "hops = [[0, 0], [1, 0]]\n"), "4:1", "0 hops from 0 to 1"},
      {topology("table", "hops = [[2, 1], [1, 0]]\n"), "4:1", "2 hops from 0 to 0"},
      {topology("table", "hops = [[0, -1], [1, 0]]\n"), "4:13", "-1 for 'hops'"},
  });
}

TEST(Description, parts_that_do_not_fit_together_are_refused_with_their_place) {
  const std::string experiment = "[experiment]\naggregators = 1\nbuffers = 2\nbuffer_bytes = '1 MB'\n";
  expect_refused({
      {flat + "[io]\ngroup = 0\n", "4:9", "0 for 'group'"},
      {flat + "[io]\ngroup = 5\n", "4:1", "a group of 5 nodes on a machine that has 4"},
      {flat + "[io]\ngroup = 2\nbridges = [0, 2]\n", "5:1", "the bridge 2 is outside its group of 2 nodes"},
      {flat + "[io]\nbridges = [4]\n", "4:1", "the bridge 4 is outside its group of 4 nodes"},
      {flat + "[io]\nbridges = [1, 1]\n", "4:1", "the bridge 1 is there twice"},
      {flat + "[io]\nbridges = 2\n", "4:11", "'bridges' in [io] is a whole number"},
      {flat + "[io]\nhops = [1, 2, 3]\n", "4:1", "3 hops for 4 nodes"},
      {flat + "[io]\nhops = [1, 2, 3, -4]\n", "4:18", "-4 for 'hops'"},
      {flat + "[io]\nlatency = '0 s'\n", "4:11", "'latency' in [io] is 0"},
      {flat + "[io]\nbridge = 1\n", "4:1", "did you mean 'bridges'?"},
      {flat + "[[bank]]\nkind = 'dram'\n", "3:1", "no 'name' in [[bank]]"},
      {flat + "[[bank]]\nname = 'dran'\n", "3:1", "did you mean 'dram'?"},
      {flat + "[[bank]]\nname = 'a'\nkind = 'dram'\n[[bank]]\nname = 'a'\nkind = 'hbm'\n", "6:1",
       "two banks are named 'a'"},
      {flat + "[[bank]]\nname = 'dram'\npersistency = 'jop'\n", "5:1", "did you mean 'job'?"},
      {flat + "[[bank]]\nname = 'dram'\nscope = 'world'\n", "5:1", "unknown scope 'world' in [[bank]]"},
      {flat + "[[bank]]\nname = 'dram'\ncapacity = '16 GB/s'\n", "5:12", "has an unknown unit"},
      {flat + experiment, "3:1", "either 'bytes' or 'most_bytes'"},
      {flat + experiment + "most_bytes = '1 MB'\nbytes = ['1 MB']\n", "3:1", "either 'bytes' or 'most_bytes'"},
      {flat + experiment + "bytes = ['1 MB']\n", "7:1", "bytes of 1 processes, but 4 nodes with 1 each make 4"},
      {flat + experiment + "bytes = [1]\n", "7:10", "'bytes' in [experiment] is a whole number"},
      {flat + experiment + "bytes = ['1']\n", "7:10", "has no unit"},
      {flat + experiment + "most_bytes = '0 B'\n", "7:14", "'most_bytes' in [experiment] is 0"},
      {flat + "[experiment]\nmost_bytes = '1 MB'\naggregators = 9\nbuffers = 2\nbuffer_bytes = '1 MB'\n", "5:1",
       "9 aggregators among 4 ranks"},
      {flat + "[experiment]\nmost_bytes = '1 MB'\naggregators = 1\nbuffers = 0\nbuffer_bytes = '1 MB'\n", "6:11",
       "0 for 'buffers'"},
      {flat + "[experiment]\nmost_bytes = '1 MB'\naggregators = 1\nbuffers = 2\n", "3:1", "no 'buffer_bytes'"},
      {flat + "[experiment]\nmost_bytes = '1 MB'\nbuffers = 2\nbuffer_bytes = '1 MB'\n", "3:1", "no 'aggregators'"},
  });
}

TEST(Description, what_was_written_reads_as_an_equal_machine) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Machine machine = random_machine(seed);
    const std::string text = write_machine(machine);
    Result<Machine> again = read_machine(text, "again.toml");
    ASSERT_TRUE(again.ok()) << "seed " << seed << '\n' << again.status().message() << '\n' << text;
    ASSERT_TRUE(*again == machine) << "seed " << seed << '\n' << text << "\n---\n" << write_machine(*again);
    ASSERT_EQ(write_machine(*again), text);
  }
}

TEST(Description, texts_with_any_letters_survive) {
  Machine machine = random_machine(1);
  machine.name = "a \"quoted\" \\ name\n\t\x01\x7f";
  machine.about = "gr\xc3\xbc\xc3\x9f dich";
  machine.storage = {};
  machine.storage.kind = "x # no comment";
  machine.storage.write = {1e9, Origin::document, "'single' and \"double\" (brackets): colon"};
  EXPECT_TRUE(read_machine(write_machine(machine), "m.toml").value() == machine);
}

TEST(Description, truncated_and_changed_texts_never_crash) {
  std::mt19937 random{3};
  for (const StoredMachine& stored : stored_machines()) {
    for (int k = 0; k < 120; ++k) {
      std::string text{stored.text.substr(0, random() % stored.text.size())};
      const Result<Machine> cut = read_machine(text, "cut.toml");
      EXPECT_EQ(cut.ok(), cut.status().message().empty());
      text = stored.text;
      for (unsigned changes = random() % 4; changes > 0; --changes)
        text[random() % text.size()] = static_cast<char>(random() % 256);
      (void)read_machine(text, "changed.toml").ok();
    }
  }
}

TEST(Description, other_numbers_and_words_in_any_place_never_crash) {
  const std::vector<std::string> words{"99999999999999999999",
                                       "2147483647",
                                       "-1",
                                       "0",
                                       "1e999",
                                       "nan",
                                       "true",
                                       "[[",
                                       "]",
                                       "{}",
                                       "''",
                                       "\"x\"",
                                       "=",
                                       ".",
                                       "\n",
                                       "16777216"};
  std::mt19937 random{6};
  for (const StoredMachine& stored : stored_machines())
    for (int k = 0; k < 150; ++k) {
      std::string text{stored.text};
      const std::size_t at = text.find_first_of("0123456789[\"", random() % text.size());
      if (at == std::string::npos) continue;
      const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
      text.replace(at, std::max<std::size_t>(end - at, 1), words[random() % words.size()]);
      const Result<Machine> machine = read_machine(text, "changed.toml");
      EXPECT_EQ(machine.ok(), machine.status().message().empty());
    }
}

TEST(Description, random_bytes_never_crash) {
  std::mt19937 random{4};
  const std::string_view letters = "[]{}=\"'.,#\n\\ 0123456789-+_aeintopolgyknd\xff";
  for (int k = 0; k < 3000; ++k) {
    std::string text;
    for (unsigned length = random() % 200; length > 0; --length)
      text += k % 2 ? letters[random() % letters.size()] : static_cast<char>(random() % 256);
    EXPECT_EQ(read_machine(text, "noise.toml").status().code(), Code::invalid);
  }
}

}  // namespace
}  // namespace weir

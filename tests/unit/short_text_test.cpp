#include "machine/short_text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "machine/description.hpp"
#include "machine/dragonfly.hpp"
#include "machine/torus.hpp"
#include "machine/tree.hpp"

namespace weir {
namespace {

LinkClass link(std::string name, double bandwidth, double latency) {
  return {std::move(name), bandwidth > 0 ? Bandwidth{bandwidth, Origin::configured, ""} : Bandwidth{},
          latency > 0 ? Latency{latency, Origin::configured, ""} : Latency{}};
}

TEST(ShortText, gives_a_whole_machine) {
  Machine machine = parse_short_text(
                        "torus 4x4x4x4x2 link 2GBps latency 1us gateway every 128 bridges 2 bridge 2GBps gateway 4GBps "
                        "ranks 16 bank dram 16GB 20GBps 100ns storage gpfs 330GBps")
                        .value();
  EXPECT_TRUE((*machine.topology == TorusTopology{{4, 4, 4, 4, 2}, true, link("link", 2e9, 1e-6)}));
  EXPECT_EQ(machine.io.group, 128);
  EXPECT_EQ(machine.io.bridges, (std::vector{0, 64}));
  EXPECT_EQ(machine.io.bridge_bandwidth, (Bandwidth{2e9, Origin::configured, ""}));
  EXPECT_EQ(machine.io.gateway_bandwidth, (Bandwidth{4e9, Origin::configured, ""}));
  EXPECT_EQ(machine.ranks_per_node, 16);
  ASSERT_EQ(machine.banks.size(), 1u);
  EXPECT_EQ(machine.banks[0].kind, "dram");
  EXPECT_EQ(machine.banks[0].capacity.value, 16e9);
  EXPECT_EQ(machine.banks[0].read.value, 20e9);
  EXPECT_EQ(machine.banks[0].write.value, 20e9);
  EXPECT_EQ(machine.banks[0].latency.value, 1e-7);
  EXPECT_EQ(machine.storage.kind, "gpfs");
  EXPECT_EQ(machine.storage.write.value, 330e9);
}

TEST(ShortText, knows_every_topology_that_is_regular) {
  const auto topology = [](const char* text) { return parse_short_text(text).value().topology; };
  EXPECT_TRUE((*topology("mesh 3x2") == TorusTopology{{3, 2}, false, link("link", 0, 0)}));
  EXPECT_TRUE((*topology("flat 8") == FatTreeTopology{{8}, {link("link", 0, 0)}}));
  EXPECT_TRUE((*topology("fattree 36x18 link 1GBps,9GBps") ==
               FatTreeTopology{{36, 18}, {link("level0", 1e9, 0), link("level1", 9e9, 0)}}));
  EXPECT_TRUE(
      (*topology("dragonfly 12x6x16x4 global 3 link 1GBps,2GBps latency 1us") ==
       DragonflyTopology{
           {12, 6, 16, 4, 3}, link("", 1e9, 1e-6), link("", 2e9, 1e-6), link("", 2e9, 1e-6), link("", 2e9, 1e-6)}));
  EXPECT_TRUE((*topology("tree (2+1)+2") == TreeTopology{5, {7, 7, 8, 9, 9, -1, 5, 6, 6, 5}, {link("link", 0, 0)}}));
}

TEST(ShortText, commas_after_words_and_any_order_do_no_harm) {
  Machine one = parse_short_text("flat 4, ranks 2, link 1GB/s; name  x").value();
  Machine other = parse_short_text("flat 4 name x link 1GBps ranks 2").value();
  EXPECT_TRUE(one == other);
  EXPECT_EQ(one.name, "x");
}

TEST(ShortText, amounts_are_told_apart_by_their_units) {
  Machine machine =
      parse_short_text(
          "flat 4 bank fast nvme 20us 3TB 7GBps 4GBps job storage lustre 9GBps 5GBps 8MB 1ms bridges at 1,3")
          .value();
  const Bank& bank = machine.banks.at(0);
  EXPECT_EQ(bank.name, "fast");
  EXPECT_EQ(bank.kind, "nvme");
  EXPECT_EQ(bank.read.value, 7e9);
  EXPECT_EQ(bank.write.value, 4e9);
  EXPECT_EQ(bank.latency.value, 20e-6);
  EXPECT_EQ(bank.persistency, Persistency::job);
  EXPECT_EQ(machine.storage.read.value, 9e9);
  EXPECT_EQ(machine.storage.write.value, 5e9);
  EXPECT_EQ(machine.storage.stripe.value, 8e6);
  EXPECT_EQ(machine.storage.latency.value, 1e-3);
  EXPECT_EQ(machine.io.bridges, (std::vector{1, 3}));
}

TEST(ShortText, can_be_written_as_a_description) {
  for (const char* text : {"flat 1", "mesh 3x2 link 1GBps", "tree (4+4)+2 latency 1us,2us,3us bank dram 1GB",
                           "dragonfly 3x2x2x2 link 1GBps ranks 4", "fattree 4x3x2 gateway every 6 bridges 3"}) {
    Machine machine = parse_short_text(text).value();
    EXPECT_TRUE(read_machine(write_machine(machine), "m.toml").value() == machine) << text;
  }
}

TEST(ShortText, a_wrong_word_is_named_with_its_position_and_what_was_expected) {
  struct Wrong {
    const char* text;
    const char* place;
    const char* reason;
  };
  for (const auto& [text, place, reason] : std::vector<Wrong>{
           {"", "at the end", "expected a topology"},
           {"ring 8", "word 1 ('ring', column 1)", "expected a topology"},
           {"torus", "at the end", "expected a shape"},
           {"torus 4x4x", "word 2 ('4x4x', column 7)", "expected a shape"},
           {"torus 4x-4", "word 2", "expected a shape"},
           {"torus 0x4", "word 2", "expected a shape"},
           {"torus 99999999999", "word 2", "expected a shape"},
           {"torus 65536x65536", "word 2", "more than 2147483647 links"},
           {"dragonfly 3x2x2", "word 2", "expected four numbers, found 3"},
           {"dragonfly 3x2x2x1 global", "at the end", "expected the number of links"},
           {"fattree 100000x100000", "word 2", "more than 16777216 nodes"},
           {"flat x", "word 2", "expected the number of nodes"},
           {"tree 4+", "word 2", "expected the switches of a tree"},
           {"tree (4", "word 2", "expected the switches of a tree"},
           {"tree 4)", "word 2", "expected the switches of a tree"},
           {"tree", "at the end", "expected the switches of a tree"},
           {"flat 4  lnk 2GBps", "word 3 ('lnk', column 9)", "did you mean 'link'?"},
           {"flat 4 link", "at the end", "expected a bandwidth"},
           {"flat 4 link 2", "word 4", "is not a number of bytes per second"},
           {"flat 4 link 2 GBps", "word 4 ('2', column 13)", "number and unit are one word"},
           {"flat 4 link 0GBps", "word 4", "'0GBps' is nothing"},
           {"flat 4 link 1GBps,2GBps", "word 4", "2 figures for links"},
           {"flat 4 latency 1GBps", "word 4", "has an unknown unit"},
           {"flat 4 ranks 0", "word 4", "expected the ranks of a node"},
           {"flat 4 ranks 2 ranks 2", "word 5", "a second 'ranks'"},
           {"flat 4 gateway", "at the end", "expected 'every' or a bandwidth"},
           {"flat 4 gateway every 5", "word 5", "a group of 5 nodes on a machine that has 4"},
           {"flat 4 gateway every 2 gateway every 2", "word 6", "a second 'gateway every'"},
           {"flat 4 bridges 5", "word 4", "5 bridges in a group of 4 nodes"},
           {"flat 4 bridges at 4", "word 4", "the bridge 4 is outside its group"},
           {"flat 4 bridges at 1,1", "word 4", "the bridge 1 is there twice"},
           {"flat 4 bank", "at the end", "expected a bank's name"},
           {"flat 4 bank fast 3GB", "word 4", "unknown kind 'fast'"},
           {"flat 4 bank dram 3GB 4GB", "word 6", "a second size"},
           {"flat 4 bank dram 3ns 4ns", "word 6", "a second latency"},
           {"flat 4 bank dram 3GBps 4GBps 5GBps", "word 7", "a third bandwidth"},
           {"flat 4 bank dram bank dram", "word 6", "a second bank of this name"},
           {"flat 4 bank dram 3XB", "word 5", "unknown word"},
           {"flat 4 storage", "at the end", "expected a file system"},
           {"flat 4 name", "at the end", "expected a name"},
           {"flat 4 ranks 2147483647", "word 4", "8589934588 ranks"},
       }) {
    const Result<Machine> machine = parse_short_text(text);
    ASSERT_FALSE(machine.ok()) << text;
    const std::string told = machine.status().message();
    EXPECT_EQ(machine.status().code(), Code::invalid);
    EXPECT_NE(told.find(place), std::string::npos) << text << '\n' << told;
    EXPECT_NE(told.find(reason), std::string::npos) << text << '\n' << told;
    EXPECT_NE(told.find("\n      "), std::string::npos) << told;
  }
}

TEST(ShortText, random_words_never_crash) {
  const std::vector<std::string> words{
      "torus", "mesh",  "dragonfly", "fattree", "flat", "tree", "4x4",     "3x2x2x2", "8",     "(4+2)+1", "link",
      "2GBps", "1us",   "latency",   "bank",    "dram", "16GB", "storage", "gateway", "every", "bridges", "at",
      "0,1",   "ranks", "((((",      "+",       ",",    "\xff", "job",     "global",  "name",  "bridge"};
  std::mt19937 random{8};
  for (int k = 0; k < 20000; ++k) {
    std::string text = words[random() % 6];
    for (unsigned count = random() % 9; count > 0; --count) text += ' ' + words[random() % words.size()];
    const Result<Machine> machine = parse_short_text(text);
    EXPECT_EQ(machine.ok(), machine.status().message().empty());
  }
  EXPECT_FALSE(parse_short_text("tree " + std::string(100000, '(')).ok());
}

}  // namespace
}  // namespace weir

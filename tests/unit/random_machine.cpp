#include "random_machine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "machine/check.hpp"
#include "machine/dragonfly.hpp"
#include "machine/graph.hpp"
#include "machine/torus.hpp"
#include "machine/tree.hpp"

namespace weir {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_{seed} {}

  int from(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }
  bool sometimes() { return from(0, 2) == 0; }
  template <Unit unit>
  Figure<unit> figure() {
    if (sometimes()) return {};
    const double value = sometimes() ? from(1, 999) * std::pow(10.0, from(-9, 12)) : from(1, 1 << 30) / 3.0;
    return {value, static_cast<Origin>(from(0, 4)), sometimes() ? "a note: with (brackets)" : ""};
  }
  Provenance source() {
    if (sometimes()) return {};
    return {static_cast<Origin>(from(0, 4)), sometimes() ? "a title: with a colon" : ""};
  }
  LinkClass link(std::string name) {
    return {std::move(name), figure<Unit::bytes_per_second>(), figure<Unit::seconds>()};
  }
  std::vector<int> list(int least_length, int most_length, int most) {
    std::vector<int> numbers(static_cast<std::size_t>(from(least_length, most_length)));
    for (int& number : numbers) number = from(1, most);
    return numbers;
  }

 private:
  std::mt19937 random_;
};

TopologyPtr random_graph(Dice& dice) {
  const int nodes = dice.from(1, 6), switches = dice.from(0, 3);
  std::vector<GraphTopology::Edge> edges;
  for (int v = 1; v < nodes + switches; ++v) edges.push_back({v, dice.from(0, v - 1), dice.from(0, 1)});
  return std::make_shared<GraphTopology>(nodes, switches, edges,
                                         std::vector{dice.link("thin"), dice.link("a wide one")});
}

TopologyPtr random_tree(Dice& dice) {
  const int switches = dice.from(1, 4), nodes = dice.from(1, 9);
  std::vector<int> parents;
  for (int node = 0; node < nodes; ++node) parents.push_back(nodes + dice.from(0, switches - 1));
  parents.push_back(-1);
  for (int k = 1; k < switches; ++k) parents.push_back(nodes + dice.from(0, k - 1));
  return std::make_shared<TreeTopology>(nodes, parents, std::vector{dice.link("low"), dice.link("high")});
}

TopologyPtr random_table(Dice& dice) {
  const auto nodes = static_cast<std::size_t>(dice.from(1, 5));
  std::vector<std::vector<int>> hops(nodes, std::vector<int>(nodes));
  for (std::size_t a = 0; a < nodes; ++a)
    for (std::size_t b = 0; b < nodes; ++b)
      if (a != b) hops[a][b] = dice.from(1, 9);
  return std::make_shared<TableTopology>(hops, dice.link("link"));
}

TopologyPtr random_topology(Dice& dice) {
  switch (dice.from(0, 7)) {
    case 0: return std::make_shared<TorusTopology>(dice.list(1, 4, 4), true, dice.link("link"));
    case 1: return std::make_shared<TorusTopology>(dice.list(1, 4, 4), false, dice.link("side-ways_1"));
    case 2:
      return std::make_shared<DragonflyTopology>(
          DragonflyTopology::Shape{dice.from(1, 4), dice.from(1, 3), dice.from(1, 3), dice.from(1, 3), dice.from(1, 3)},
          dice.link(""), dice.link(""), dice.link(""), dice.link(""));
    case 3: return std::make_shared<FatTreeTopology>(dice.list(2, 3, 4), std::vector{dice.link("b"), dice.link("a")});
    case 4: return std::make_shared<FatTreeTopology>(dice.list(1, 1, 30), std::vector{dice.link("port")});
    case 5: return random_tree(dice);
    case 6: return random_graph(dice);
    default: return random_table(dice);
  }
}

Bank random_bank(Dice& dice, std::string name) {
  Bank bank{std::move(name),
            std::string{bank_kinds()[static_cast<std::size_t>(dice.from(0, 6))]},
            dice.figure<Unit::bytes>(),
            dice.figure<Unit::seconds>(),
            dice.figure<Unit::bytes_per_second>(),
            dice.figure<Unit::bytes_per_second>(),
            static_cast<Persistency>(dice.from(0, 3)),
            static_cast<Scope>(dice.from(0, 2)),
            dice.sometimes() ? "/some/where" : ""};
  return bank;
}

Experiment random_experiment(Dice& dice, int nodes) {
  Experiment experiment;
  experiment.ranks_per_node = dice.from(1, 3);
  if (dice.sometimes())
    experiment.most_bytes = dice.from(1, 1 << 30);
  else
    for (int k = 0; k < nodes * experiment.ranks_per_node; ++k) experiment.bytes.push_back(dice.from(0, 3) * 1000.0);
  experiment.buffers = dice.from(1, 4);
  experiment.buffer_bytes = dice.from(1, 1 << 30);
  if (dice.sometimes())
    experiment.published = {{"greedy", {2e9, Origin::document, "a title"}}, {"a b", {1, Origin::assumed, ""}}};
  return experiment;
}

}  // namespace

Machine random_machine(unsigned seed) {
  Dice dice{seed};
  Machine machine;
  machine.name = fmt::format("random-{}", seed);
  if (dice.sometimes()) machine.about = "found by \"chance\"";
  machine.ranks_per_node = dice.from(1, 64);
  machine.topology = random_topology(dice);
  if (dice.sometimes()) machine.io.group = dice.from(1, machine.nodes());
  for (int k = 0; k < machine.group_size(); ++k)
    if (machine.io.bridges.size() < 3 && dice.sometimes()) machine.io.bridges.push_back(k);
  machine.io.bridge_bandwidth = dice.figure<Unit::bytes_per_second>();
  machine.io.gateway_bandwidth = dice.figure<Unit::bytes_per_second>();
  machine.io.latency = dice.figure<Unit::seconds>();
  if (dice.sometimes())
    for (int k = 0; k < machine.nodes(); ++k) machine.io.hops.push_back(dice.from(0, 9));
  if (!dice.sometimes())
    machine.storage = {"lustre",
                       dice.sometimes() ? "/scratch" : "",
                       dice.figure<Unit::bytes_per_second>(),
                       dice.figure<Unit::bytes_per_second>(),
                       dice.figure<Unit::seconds>(),
                       dice.figure<Unit::seconds>(),
                       dice.figure<Unit::bytes>(),
                       dice.figure<Unit::bytes>(),
                       dice.figure<Unit::bytes>()};
  for (int k = dice.from(0, 3); k > 0; --k) machine.banks.push_back(random_bank(dice, fmt::format("bank{}", k)));
  if (dice.sometimes()) machine.experiment = random_experiment(dice, machine.nodes());
  machine.origins.ranks_per_node = dice.source();
  machine.origins.topology = dice.source();
  if (machine.io.group > 0) machine.origins.group = dice.source();
  if (!machine.io.bridges.empty()) machine.origins.bridges = dice.source();
  if (!machine.io.hops.empty()) machine.origins.hops = dice.source();
  if (machine.experiment) machine.origins.experiment = dice.source();
  return machine;
}

}  // namespace weir

#include "machine/short_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>

#include "core/errors.hpp"
#include "core/nearest.hpp"
#include "machine/check.hpp"
#include "machine/make_topology.hpp"
#include "machine/short_words.hpp"

namespace weir {
namespace {

using Links = std::vector<LinkClass>;
using Maker = std::function<TopologyPtr(Links, Finding&)>;

/// A topology before its links are known.
struct Frame {
  std::size_t classes = 1;  ///< the most that it can have
  std::size_t least = 1;
  Maker make;
};

Frame grid(ShortWords& words, bool rings) {
  std::vector<int> shape = words.wholes('x', 1, "a shape such as 4x4x2");
  return {1, 1, [=](Links links, Finding& finding) { return make_grid(shape, rings, std::move(links[0]), finding); }};
}
Frame torus(ShortWords& words) { return grid(words, true); }
Frame mesh(ShortWords& words) { return grid(words, false); }

Frame dragonfly(ShortWords& words) {
  const std::vector<int> shape = words.wholes('x', 1, "groups, rows, columns and nodes a router, such as 12x6x16x4");
  if (shape.size() != 4) {
    words.refuse(fmt::format("expected four numbers, found {}", shape.size()),
                 "write groups x rows x columns x nodes a router, such as 12x6x16x4");
    return {};
  }
  const int global = words.take_if("global") ? words.whole("the number of links between two groups") : 1;
  return {4, 4, [=](Links links, Finding& finding) {
            return make_dragonfly({shape[0], shape[1], shape[2], shape[3], global}, std::move(links), finding);
          }};
}

Frame fat_tree(ShortWords& words) {
  std::vector<int> arity = words.wholes('x', 1, "what is below a switch of each level, such as 36x18");
  return {arity.size(), 1,
          [=](Links links, Finding& finding) { return make_fat_tree(arity, std::move(links), finding); }};
}

Frame flat(ShortWords& words) {
  const int nodes = words.whole("the number of nodes");
  return {1, 1, [=](Links links, Finding& finding) { return make_flat(nodes, std::move(links), finding); }};
}

/// "(4+4)+2": a number is a switch with so many nodes, a bracket a switch above others.
class TreeText {
 public:
  explicit TreeText(std::string_view text) : rest_{text} {}

  bool read() {
    switches_.push_back(-1);
    return sum(0, 1) && rest_.empty() && nodes() <= most_nodes;
  }
  [[nodiscard]] int nodes() const { return static_cast<int>(homes_.size()); }
  [[nodiscard]] std::vector<int> parents() const {
    std::vector<int> parents;
    for (const int home : homes_) parents.push_back(nodes() + home);
    for (const int above : switches_) parents.push_back(above < 0 ? -1 : nodes() + above);
    return parents;
  }
  [[nodiscard]] std::size_t levels() const { return depth_ + 1; }

 private:
  static constexpr int most_nodes = 1 << 20;
  static constexpr std::size_t most_depth = 64;

  bool sum(int above, std::size_t depth) {
    if (depth > most_depth) return false;
    depth_ = std::max(depth_, depth);
    do {
      if (!term(above, depth)) return false;
    } while (skip('+'));
    return true;
  }
  bool term(int above, std::size_t depth) {
    const int here = static_cast<int>(switches_.size());
    switches_.push_back(above);
    if (skip('(')) return sum(here, depth + 1) && skip(')');
    int count = 0;
    const auto [at, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), count);
    if (error != std::errc{} || count < 1 || count > most_nodes - nodes()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()));
    homes_.insert(homes_.end(), static_cast<std::size_t>(count), here);
    return true;
  }
  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
  std::vector<int> homes_;     ///< the switch of each node
  std::vector<int> switches_;  ///< the one above each
  std::size_t depth_ = 0;
};

Frame tree(ShortWords& words) {
  constexpr std::string_view example = "a number is a switch with so many nodes, a bracket a switch above: (4+4)+2";
  if (words.peek().empty()) return words.refuse_at(words.taken(), "expected the switches of a tree", example), Frame{};
  TreeText text{words.take()};
  if (!text.read()) return words.refuse("expected the switches of a tree", example), Frame{};
  return {text.levels(), 1, [=](Links links, Finding& finding) {
            return make_tree(text.nodes(), text.parents(), std::move(links), finding);
          }};
}

struct Kind {
  std::string_view word;
  Frame (*read)(ShortWords&);
};
constexpr std::array kinds{Kind{"torus", torus},      Kind{"mesh", mesh}, Kind{"dragonfly", dragonfly},
                           Kind{"fattree", fat_tree}, Kind{"flat", flat}, Kind{"tree", tree}};

/// What the properties after the topology say.
struct Properties {
  Machine machine;
  std::vector<Bandwidth> link;
  std::vector<Latency> latency;
  int bridges = 0;                           ///< to be spread over a group
  std::map<std::string, std::size_t> words;  ///< where a description's key was given
};

void read_link(ShortWords& words, Properties& p) { p.link = words.figures<Unit::bytes_per_second>("a bandwidth"); }
void read_latency(ShortWords& words, Properties& p) { p.latency = words.figures<Unit::seconds>("a time"); }
void read_ranks(ShortWords& words, Properties& p) {
  p.words["ranks_per_node"] = words.taken();
  p.machine.ranks_per_node = words.whole("the ranks of a node");
}
void read_name(ShortWords& words, Properties& p) {
  if (words.peek().empty()) return words.refuse_at(words.taken(), "expected a name", "add it");
  p.machine.name = words.take();
}

void read_every(ShortWords& words, Properties& p) {
  p.words["io.group"] = words.taken();
  p.machine.io.group = words.whole("the nodes that share a gateway");
}

void read_gateway(ShortWords& words, Properties& p) {
  const std::optional<Bandwidth> bandwidth = words.figure_if<Unit::bytes_per_second>();
  if (!bandwidth) return words.refuse_at(words.taken(), "expected 'every' or a bandwidth", "such as: gateway 4GBps");
  p.machine.io.gateway_bandwidth = *bandwidth;
}

void read_bridges(ShortWords& words, Properties& p) {
  p.words["io.bridges"] = words.taken();
  if (words.take_if("at"))
    p.machine.io.bridges = words.wholes(',', 0, "positions in a group, such as 0,64");
  else
    p.bridges = words.whole("the number of bridges of a group");
}

void read_bridge(ShortWords& words, Properties& p) {
  const std::vector<Bandwidth> bandwidth = words.figures<Unit::bytes_per_second>("a bandwidth");
  if (!bandwidth.empty()) p.machine.io.bridge_bandwidth = bandwidth.front();
  if (const auto latency = words.figure_if<Unit::seconds>()) p.machine.io.latency = *latency;
}

/// Amounts in any order, told apart by their units: the first bandwidth is for reading and writing, a second one for
/// writing.
void read_amounts(ShortWords& words, Capacity& size, Latency& latency, Bandwidth& read, Bandwidth& write) {
  int bandwidths = 0;
  for (;;) {
    if (const auto bandwidth = words.figure_if<Unit::bytes_per_second>(); bandwidth && bandwidths < 2) {
      write = *bandwidth;
      if (bandwidths++ == 0) read = *bandwidth;
    } else if (bandwidth) {
      return words.refuse("a third bandwidth", "one for both ways, or one to read and one to write");
    } else if (const auto bytes = words.figure_if<Unit::bytes>()) {
      if (size.known()) return words.refuse("a second size", "give one");
      size = *bytes;
    } else if (const auto time = words.figure_if<Unit::seconds>()) {
      if (latency.known()) return words.refuse("a second latency", "give one");
      latency = *time;
    } else {
      return;
    }
  }
}

void read_storage(ShortWords& words, Properties& p) {
  if (words.peek().empty()) return words.refuse_at(words.taken(), "expected a file system", "such as: storage gpfs");
  FileSystem& storage = p.machine.storage;
  storage.kind = words.take();
  read_amounts(words, storage.stripe, storage.latency, storage.read, storage.write);
}

void read_bank(ShortWords& words, Properties& p) {
  if (words.peek().empty()) return words.refuse_at(words.taken(), "expected a bank's name", "such as: bank dram 16GB");
  const auto is_kind = [](std::string_view word) {
    return std::ranges::find(bank_kinds(), word) != bank_kinds().end();
  };
  p.words["bank"] = words.taken();
  Bank bank;
  bank.name = words.take();
  bank.kind = is_kind(words.peek()) ? words.take() : bank.name;
  if (bank.kind == "remote") bank.scope = Scope::network;
  read_amounts(words, bank.capacity, bank.latency, bank.read, bank.write);
  if (const auto persistency = parse_persistency(words.peek())) {
    bank.persistency = *persistency;
    words.take();
  }
  p.machine.banks.push_back(std::move(bank));
  if (std::ranges::count(p.machine.banks, p.machine.banks.back().name, &Bank::name) > 1)
    words.refuse_at(p.words["bank"], "a second bank of this name", "give every bank a name of its own");
}

struct Property {
  std::string_view word;
  void (*read)(ShortWords&, Properties&);
  bool repeated = false;
};
constexpr std::array properties{
    Property{"link", read_link},       Property{"latency", read_latency}, Property{"ranks", read_ranks},
    Property{"gateway", read_gateway}, Property{"bridges", read_bridges}, Property{"bridge", read_bridge},
    Property{"storage", read_storage}, Property{"bank", read_bank, true}, Property{"name", read_name}};

template <std::size_t count, class Entry>
std::vector<std::string_view> words_of(const std::array<Entry, count>& entries) {
  std::vector<std::string_view> words;
  for (const Entry& entry : entries) words.push_back(entry.word);
  return words;
}

void read_properties(ShortWords& words, Properties& result) {
  std::vector<std::string> seen;
  while (!words.peek().empty()) {
    const std::size_t at = words.taken();
    std::string word{words.take()};
    const auto property = std::ranges::find(properties, word, &Property::word);
    if (property == properties.end()) {
      const auto known = words_of(properties);
      return words.refuse_at(
          at, "unknown word",
          fmt::format("did you mean '{}'? known are {}", nearest(word, known), fmt::join(known, ", ")));
    }
    const bool every = word == "gateway" && words.take_if("every");
    if (every) word += " every";
    if (!property->repeated && std::ranges::find(seen, word) != seen.end())
      return words.refuse_at(at, fmt::format("a second '{}'", word), "give it once");
    seen.push_back(word);
    result.words.emplace(word, at);
    every ? read_every(words, result) : property->read(words, result);
  }
}

template <Unit unit>
void assign(std::vector<LinkClass>& links, Figure<unit> LinkClass::*part, const std::vector<Figure<unit>>& figures) {
  for (std::size_t k = 0; k < links.size() && !figures.empty(); ++k)
    links[k].*part = figures[std::min(k, figures.size() - 1)];
}

/// As many classes as figures were given; all of those that a topology cannot do without.
Links links_of(ShortWords& words, const Frame& frame, Properties& properties_given) {
  const std::size_t given = std::max(properties_given.link.size(), properties_given.latency.size());
  if (given > frame.classes) {
    const char* word = properties_given.link.size() == given ? "link" : "latency";
    words.refuse_at(
        properties_given.words[word] + 1, fmt::format("{} figures for links", given),
        fmt::format("this topology has {} class{} of links", frame.classes, frame.classes == 1 ? "" : "es"));
  }
  Links links(std::max({given, frame.least, std::size_t{1}}));
  for (std::size_t k = 0; k < links.size(); ++k) links[k].name = links.size() == 1 ? "link" : fmt::format("level{}", k);
  assign(links, &LinkClass::bandwidth, properties_given.link);
  assign(links, &LinkClass::latency, properties_given.latency);
  return links;
}

Result<Machine> parse_words(std::string_view text) {
  ShortWords words{text};
  const auto known = words_of(kinds);
  const auto kind = std::ranges::find(kinds, words.peek(), &Kind::word);
  if (kind == kinds.end()) {
    words.refuse_at(0, "expected a topology", fmt::format("it begins with one of {}", fmt::join(known, ", ")));
    return words.status();
  }
  words.take();
  const Frame frame = kind->read(words);
  Properties given;
  given.machine.name = kind->word;
  read_properties(words, given);
  Links links = links_of(words, frame, given);
  if (!words.ok()) return words.status();

  Machine& machine = given.machine;
  Finding finding;
  machine.topology = frame.make(std::move(links), finding);
  if (!machine.topology) return words.refuse_at(1, finding.what, finding.remedy), words.status();
  if (given.bridges > machine.group_size())
    words.refuse_at(given.words["io.bridges"],
                    fmt::format("{} bridges in a group of {} nodes", given.bridges, machine.group_size()),
                    fmt::format("at most {}", machine.group_size()));
  if (!words.ok()) return words.status();
  for (int k = 0; k < given.bridges; ++k)
    machine.io.bridges.push_back(static_cast<int>(static_cast<std::int64_t>(k) * machine.group_size() / given.bridges));
  if (const std::optional<Finding> wrong = check(machine)) {
    const auto word = given.words.find(wrong->key);
    words.refuse_at(word == given.words.end() ? 1 : word->second, wrong->what, wrong->remedy);
    return words.status();
  }
  return machine;
}

}  // namespace

bool is_short_text(std::string_view text) {
  return std::ranges::find(kinds, ShortWords{text}.peek(), &Kind::word) != kinds.end();
}

Result<Machine> parse_short_text(std::string_view text) {
  try {
    return parse_words(text);
  } catch (const std::bad_alloc&) {
    return problem(Code::no_memory, "cannot read the machine's short text: out of memory",
                   "describe a smaller machine");
  }
}

}  // namespace weir

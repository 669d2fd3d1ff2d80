#include "machine/slurm_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <new>
#include <optional>

#include "core/errors.hpp"
#include "core/nearest.hpp"
#include "machine/host_list.hpp"
#include "machine/make_topology.hpp"

namespace weir {
namespace {

constexpr std::string_view blanks_in_line = " \t\r";
constexpr std::array keys{"SwitchName", "Nodes", "Switches", "LinkSpeed"};

struct Switch {
  std::string name;
  std::vector<std::string> nodes, switches;
  int line = 0;
  int above = -1;
};

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

class SlurmReader {
 public:
  explicit SlurmReader(std::string_view origin_name) : origin_name_{origin_name} {}

  Status read(std::string_view text) {
    int number = 0;
    std::string joined;
    int first = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++number;
      if (joined.empty()) first = number;
      line = line.substr(0, line.find('#'));
      line = line.substr(0, line.find_last_not_of(blanks_in_line) + 1);
      if (line.ends_with('\\')) {
        joined += std::string{line.substr(0, line.size() - 1)} + ' ';
        continue;
      }
      joined += line;
      if (Status status = read_line(joined, first); !status) return status;
      joined.clear();
    }
    return joined.empty() ? Status{} : read_line(joined, first);
  }

  Result<SlurmTopology> tree(std::vector<LinkClass> levels) {
    if (switches_.empty()) return wrong(1, "no switches", "write lines such as SwitchName=s0 Nodes=n[0-3]");
    if (Status status = join(); !status) return status;
    int top = -1;
    for (std::size_t k = 0; k < switches_.size(); ++k) {
      if (switches_[k].above >= 0) continue;
      if (top >= 0)
        return wrong(switches_[k].line,
                     fmt::format("the switches '{}' and '{}' are both at the top",
                                 switches_[static_cast<std::size_t>(top)].name, switches_[k].name),
                     "add a line SwitchName=top Switches=... with both");
      top = static_cast<int>(k);
    }
    if (top < 0) return wrong(1, "every switch is below another one", "one switch must be the top");

    SlurmTopology result;
    std::vector<int> homes, place(switches_.size(), -1), above;
    collect(top, homes, place, above, result);
    for (std::size_t k = 0; k < switches_.size(); ++k)
      if (place[k] < 0)
        return wrong(switches_[k].line, fmt::format("the switch '{}' stands above itself", switches_[k].name),
                     "every way up must end at the top");
    if (result.nodes.empty()) return wrong(switches_[static_cast<std::size_t>(top)].line, "no nodes", "add Nodes=...");
    const int nodes = static_cast<int>(result.nodes.size());
    std::vector<int> parents;
    for (const int home : homes) parents.push_back(nodes + home);
    for (const int up : above) parents.push_back(up < 0 ? -1 : nodes + up);
    Finding finding;
    result.tree = std::static_pointer_cast<const TreeTopology>(make_tree(nodes, parents, std::move(levels), finding));
    if (!result.tree) return wrong(1, finding.what, finding.remedy);
    return result;
  }

 private:
  [[nodiscard]] Status wrong(int line, std::string_view what, std::string_view remedy) const {
    return problem(Code::invalid, fmt::format("cannot read topology from {}:{}: {}", origin_name_, line, what), remedy);
  }

  Status read_line(std::string_view line, int number) {
    Switch found;
    found.line = number;
    std::vector<std::string_view> given;
    for (std::size_t at = line.find_first_not_of(blanks_in_line); at != std::string_view::npos;
         at = line.find_first_not_of(blanks_in_line, at)) {
      const std::size_t end = std::min(line.find_first_of(blanks_in_line, at), line.size());
      if (Status status = read_pair(line.substr(at, end - at), found, given); !status) return status;
      at = end;
    }
    if (given.empty()) return {};
    if (found.name.empty()) return wrong(number, "no SwitchName in this line", "begin it with SwitchName=...");
    if (found.nodes.empty() && found.switches.empty())
      return wrong(number, fmt::format("nothing is below the switch '{}'", found.name),
                   "add Nodes=... or Switches=...");
    if (const auto [before, is_new] = index_.emplace(found.name, switches_.size()); !is_new)
      return wrong(number,
                   fmt::format("the switch '{}' is already in line {}", found.name, switches_[before->second].line),
                   "give every switch one line");
    switches_.push_back(std::move(found));
    return {};
  }

  Status read_pair(std::string_view word, Switch& found, std::vector<std::string_view>& given) {
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const auto known = std::ranges::find_if(keys, [&](std::string_view other) { return same_word(key, other); });
    if (equals == std::string_view::npos || known == keys.end())
      return wrong(
          found.line, fmt::format("'{}' is not of the form key=value with a known key", word),
          fmt::format("did you mean {}=...? known are SwitchName, Nodes, Switches and LinkSpeed", nearest(key, keys)));
    if (std::ranges::find(given, *known) != given.end())
      return wrong(found.line, fmt::format("a second {} in this line", *known), "give it once");
    given.emplace_back(*known);
    const std::string_view value = word.substr(equals + 1);
    if (same_word(key, "LinkSpeed")) return {};
    std::string why;
    auto names = expand_host_list(value, why);
    if (!names) return wrong(found.line, fmt::format("{}={}: {}", *known, value, why), "write it like n[0-3,7]");
    if (same_word(key, "SwitchName")) {
      if (names->size() != 1) return wrong(found.line, "several names for a switch", "give every switch one line");
      found.name = names->front();
    } else {
      (same_word(key, "Nodes") ? found.nodes : found.switches) = *std::move(names);
    }
    return {};
  }

  /// Every switch and node is below at most one other.
  Status join() {
    std::map<std::string, std::size_t> home;
    for (std::size_t k = 0; k < switches_.size(); ++k) {
      const Switch& here = switches_[k];
      for (const std::string& node : here.nodes)
        if (const auto [other, is_new] = home.emplace(node, k); !is_new)
          return wrong(here.line,
                       fmt::format("the node '{}' is already below '{}'", node, switches_[other->second].name),
                       "a node is below one switch");
      for (const std::string& name : here.switches) {
        const auto child = index_.find(name);
        if (child == index_.end())
          return wrong(here.line, fmt::format("no line for the switch '{}'", name),
                       fmt::format("add SwitchName={} Nodes=...", name));
        int& above = switches_[child->second].above;
        if (above >= 0)
          return wrong(here.line,
                       fmt::format("the switch '{}' is already below '{}'", name,
                                   switches_[static_cast<std::size_t>(above)].name),
                       "a switch is below one other");
        above = static_cast<int>(k);
      }
    }
    return {};
  }

  /// Depth first from the top, without recursion since files can be deep.
  void collect(int top, std::vector<int>& homes, std::vector<int>& place, std::vector<int>& above,
               SlurmTopology& result) const {
    std::vector<int> open{top};
    while (!open.empty()) {
      const auto here = static_cast<std::size_t>(open.back());
      open.pop_back();
      place[here] = static_cast<int>(result.switches.size());
      const Switch& found = switches_[here];
      above.push_back(found.above < 0 ? -1 : place[static_cast<std::size_t>(found.above)]);
      result.switches.push_back(found.name);
      for (const std::string& node : found.nodes) {
        homes.push_back(place[here]);
        result.nodes.push_back(node);
      }
      for (std::size_t k = found.switches.size(); k-- > 0;)
        open.push_back(static_cast<int>(index_.at(found.switches[k])));
    }
  }

  std::string origin_name_;
  std::vector<Switch> switches_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace

Result<SlurmTopology> read_slurm_topology(std::string_view text, std::string_view origin_name,
                                          std::vector<LinkClass> levels) {
  try {
    SlurmReader reader{origin_name};
    if (Status status = reader.read(text); !status) return status;
    return reader.tree(std::move(levels));
  } catch (const std::bad_alloc&) {
    return problem(Code::no_memory, "cannot read topology: out of memory");
  }
}

}  // namespace weir

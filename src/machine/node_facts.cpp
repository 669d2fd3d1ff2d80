#include "machine/node_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <tuple>
#include <type_traits>

namespace weir {
namespace {

struct Usual {
  std::string_view kind;
  double latency_s, read, write;
};

// Orders of magnitude: for lack of anything better, and to be replaced by calibration.
constexpr Usual usual[] = {
    {"hbm", 130e-9, 300e9, 300e9},   {"dram", 90e-9, 20e9, 20e9},     {"nvram", 300e-9, 6e9, 2e9},
    {"nvme", 20e-6, 3e9, 1.5e9},     {"ssd", 100e-6, 500e6, 400e6},   {"disk", 1e-3, 300e6, 200e6},
    {"hdd", 8e-3, 150e6, 150e6},
};

template <class T, class Whole>
concept Either = std::same_as<std::remove_const_t<T>, Whole>;

template <Unit unit>
auto parts(const Figure<unit>& f) {
  return std::tie(f.value, f.origin, f.note);
}
template <Unit unit>
auto parts(Figure<unit>& f) {
  return std::tie(f.value, f.origin, f.note);
}
auto parts(Either<NumaFacts> auto& n) { return std::tie(n.index, n.kind, n.capacity, n.latency, n.read, n.write); }
auto parts(Either<CacheFacts> auto& c) { return std::tie(c.level, c.count, c.each); }
auto parts(Either<BlockDevice> auto& d) { return std::tie(d.name, d.kind, d.size); }
auto parts(Either<NetworkDevice> auto& d) { return std::tie(d.name, d.kind, d.bandwidth); }
auto parts(Either<Bank> auto& b) {
  return std::tie(b.name, b.kind, b.capacity, b.latency, b.read, b.write, b.persistency, b.scope, b.path);
}
auto parts(Either<FileSystem> auto& f) {
  return std::tie(f.kind, f.path, f.read, f.write, f.latency, f.block, f.stripe, f.free);
}
auto parts(Either<NodeFacts> auto& f) {
  return std::tie(f.host, f.system, f.shape, f.cores, f.numa, f.caches, f.disks, f.networks, f.directories, f.storage,
                  f.switches, f.job_shape, f.warnings);
}

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

struct Storing {
  Writer& to;

  void operator()(const std::string& text) { to.put(text); }
  void operator()(const Plain auto& value) { to.put(value); }
  template <class T>
  void operator()(const std::vector<T>& all) {
    to.put<std::uint64_t>(all.size());
    for (const T& each : all) (*this)(each);
  }
  template <class T>
  void operator()(const T& whole) {
    std::apply([&](const auto&... part) { ((*this)(part), ...); }, parts(whole));
  }
};

struct Loading {
  Reader& from;

  void operator()(std::string& text) { from.get_to(text); }
  void operator()(Plain auto& value) { from.get_to(value); }
  template <class T>
  void operator()(std::vector<T>& all) {
    const auto count = from.get<std::uint64_t>();
    all.clear();
    for (std::uint64_t k = 0; k < count && from.ok(); ++k) (*this)(all.emplace_back());
  }
  template <class T>
  void operator()(T& whole) {
    std::apply([&](auto&... part) { ((*this)(part), ...); }, parts(whole));
  }
};

template <Unit unit>
Figure<unit> slower(const Figure<unit>& a, const Figure<unit>& b) {
  if (!a.known() || !b.known()) return a.known() ? a : b;
  const bool a_is_slower = unit == Unit::seconds ? a.value >= b.value : a.value <= b.value;
  return a_is_slower ? a : b;
}

void assume_unknown(Bank& bank) {
  const UsualFigures figures = usual_figures(bank.kind);
  if (!bank.latency.known()) bank.latency = figures.latency;
  if (!bank.read.known()) bank.read = figures.read;
  if (!bank.write.known()) bank.write = figures.write;
}

}  // namespace

void store(Writer& to, const NodeFacts& facts) { Storing{to}(facts); }

NodeFacts load_node_facts(Reader& from) {
  NodeFacts facts;
  Loading{from}(facts);
  return facts;
}

UsualFigures usual_figures(std::string_view kind) {
  const auto* found = std::ranges::find(usual, kind, &Usual::kind);
  if (found == std::end(usual)) return {};
  const std::string note = fmt::format("usual for {}", kind);
  return {{found->latency_s, Origin::assumed, note},
          {found->read, Origin::assumed, note},
          {found->write, Origin::assumed, note}};
}

std::vector<Bank> banks_of(const NodeFacts& facts) {
  std::vector<Bank> banks;
  for (const NumaFacts& numa : facts.numa) {
    auto bank = std::ranges::find(banks, numa.kind, &Bank::kind);
    if (bank == banks.end()) {
      Bank first;
      first.name = first.kind = numa.kind;
      first.capacity = numa.capacity;
      first.latency = numa.latency;
      first.read = numa.read;
      first.write = numa.write;
      banks.push_back(std::move(first));
      continue;
    }
    bank->capacity.value += numa.capacity.value;
    bank->latency = slower(bank->latency, numa.latency);
    bank->read = slower(bank->read, numa.read);
    bank->write = slower(bank->write, numa.write);
  }
  banks.insert(banks.end(), facts.directories.begin(), facts.directories.end());
  for (Bank& bank : banks) assume_unknown(bank);
  std::ranges::stable_sort(banks, std::ranges::greater{}, [](const Bank& bank) { return bank.write.value; });
  return banks;
}

}  // namespace weir

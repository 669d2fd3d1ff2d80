#include "model/election.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "core/errors.hpp"
#include "core/nearest.hpp"
#include "model/bank_room.hpp"

namespace weir {
namespace {

constexpr std::array strategy_names{"greedy", "shortest", "longest", "random", "tapioca", "ma-tapioca", "weir"};
constexpr std::size_t most_explained = 4096;  // that are kept for an explanation
// An election among more nodes than this goes in two rounds: among some of them, then around the winner.
constexpr std::size_t most_voters = 64;
// Of more producers than this every few-th stands for its neighbours.
constexpr std::size_t most_producers = 64;

/// Tells how many domains each node has taken on.
class Seats {
 public:
  explicit Seats(const PlacementProblem& problem)
      : most_{problem.seats_per_node()}, taken_(static_cast<std::size_t>(problem.nodes())) {}
  [[nodiscard]] bool free(int node) const { return taken_[static_cast<std::size_t>(node)] < most_; }
  void take(int node) { ++taken_[static_cast<std::size_t>(node)]; }

 private:
  int most_;
  std::vector<int> taken_;
};

/// The electorate without nodes that have enough to do, or no room; all others when it has nobody left.
std::vector<int> voters(const PlacementProblem& problem, int domain, const Seats& seats, const BankRoom& room) {
  const double bytes = problem.traffic[static_cast<std::size_t>(domain)].bytes;
  const auto can = [&](int node) { return seats.free(node) && room.best(node, bytes) >= 0; };
  std::vector<int> nodes = problem.electorate(domain);
  std::erase_if(nodes, [&](int node) { return !can(node); });
  if (nodes.empty())
    for (int node = 0; node < problem.nodes(); ++node)
      if (can(node)) nodes.push_back(node);
  return nodes;
}

int by_distance(const PlacementProblem& problem, const std::vector<int>& nodes, bool nearest_first) {
  const auto hops = [&](int node) { return problem.machine->hops_to_storage(node) * (nearest_first ? 1 : -1); };
  return *std::ranges::min_element(nodes, {}, hops);
}

class Ballot {
 public:
  Ballot(const PlacementProblem& problem, const CostModel& model, const BankRoom& room, Election& election)
      : problem_{problem}, model_{model}, room_{room}, election_{election} {}

  Place cheapest(int domain, const std::vector<int>& nodes) {
    best_ = {};
    cost_ = -1;
    const std::size_t stride = (nodes.size() + most_voters - 1) / most_voters;
    std::size_t winner = 0;
    for (std::size_t k = 0; k < nodes.size(); k += stride)
      if (consider(domain, nodes[k])) winner = k;
    const std::size_t first = winner >= stride ? winner - stride + 1 : 0;
    for (std::size_t k = first; stride > 1 && k < std::min(nodes.size(), winner + stride); ++k)
      if (k != winner) consider(domain, nodes[k]);
    return best_;
  }

 private:
  bool consider(int domain, int node) {
    const double bytes = problem_.traffic[static_cast<std::size_t>(domain)].bytes;
    bool better = false;
    const int banks = std::max<int>(1, static_cast<int>(problem_.machine->banks.size()));
    for (int bank = 0; bank < banks; ++bank) {
      const Place place{node, bank};
      Candidate candidate{domain, place, model_.cost(problem_, domain, place), {}};
      if (!problem_.machine->banks.empty())
        candidate.unfit = problem_.unfit(problem_.machine->banks[static_cast<std::size_t>(bank)], bytes).value_or("");
      if (candidate.unfit.empty() && !room_.has_room(place, bytes))
        candidate.unfit = "other aggregators of the node have taken it";
      if (candidate.unfit.empty() && (cost_ < 0 || candidate.cost_s < cost_)) {
        best_ = place;
        cost_ = candidate.cost_s;
        better = true;
      }
      if (election_.candidates.size() < most_explained) election_.candidates.push_back(std::move(candidate));
    }
    return better;
  }

  const PlacementProblem& problem_;
  const CostModel& model_;
  const BankRoom& room_;
  Election& election_;
  Place best_;
  double cost_ = -1;
};

}  // namespace

std::string_view name(Strategy strategy) noexcept { return strategy_names[static_cast<std::size_t>(strategy)]; }

Result<Strategy> parse_strategy(std::string_view text) {
  for (const Strategy strategy : strategies)
    if (text == name(strategy)) return strategy;
  const std::vector<std::string> names{strategy_names.begin(), strategy_names.end()};
  return problem(Code::invalid, fmt::format("there is no model '{}'", text),
                 fmt::format("did you mean '{}'? There are {}", nearest(std::string{text}, names), fmt::join(names, ", ")));
}

Status no_bank(const PlacementProblem& placement, double domain_bytes) {
  std::string why;
  for (const Bank& bank : placement.machine->banks)
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", bank.name, placement.unfit(bank, domain_bytes).value_or("fits"));
  return problem(Code::no_memory, fmt::format("cannot place aggregation buffers: no memory bank will do ({})", why),
                 "use fewer or smaller buffers, or ask for less of the bank");
}

Status no_room(const PlacementProblem& placement) {
  return problem(
      Code::no_memory,
      fmt::format("cannot place aggregation buffers: the memory banks of {} node{} have no room for {} domains "
                  "with {} buffers of {} each",
                  placement.nodes(), placement.nodes() == 1 ? "" : "s", placement.traffic.size(), placement.buffers,
                  format_figure(placement.buffer_bytes, Unit::bytes)),
      "use fewer or smaller buffers, fewer aggregators, or ask for less of the bank");
}

Result<Election> elect(const PlacementProblem& problem, Strategy strategy, Effort effort, std::uint64_t seed) {
  Election election;
  for (const DomainTraffic& domain : problem.traffic)
    if (!problem.machine->banks.empty() && problem.fitting_banks(domain.bytes).empty())
      return no_bank(problem, domain.bytes);
  if (strategy == Strategy::contention) return elect_by_contention(problem, effort);
  const PlacementProblem thin{problem, thinned(problem.traffic, most_producers)};
  const TapiocaModel tapioca;
  const MaTapiocaModel ma_tapioca;
  const CostModel& model = strategy == Strategy::tapioca ? static_cast<const CostModel&>(tapioca) : ma_tapioca;
  BankRoom room{problem};
  Ballot ballot{thin, model, room, election};
  Seats seats{problem};
  std::mt19937_64 random{seed};
  for (int d = 0; d < static_cast<int>(problem.traffic.size()); ++d) {
    const double bytes = problem.traffic[static_cast<std::size_t>(d)].bytes;
    const std::vector<int> nodes = voters(problem, d, seats, room);
    if (nodes.empty()) return no_room(problem);
    Place place{nodes.front(), 0};
    switch (strategy) {
      case Strategy::greedy: break;
      case Strategy::shortest_path: place.node = by_distance(problem, nodes, true); break;
      case Strategy::longest_path: place.node = by_distance(problem, nodes, false); break;
      case Strategy::random: place.node = nodes[random() % nodes.size()]; break;
      case Strategy::tapioca: place.node = ballot.cheapest(d, nodes).node; break;
      case Strategy::ma_tapioca:
      case Strategy::contention: place = ballot.cheapest(d, nodes); break;
    }
    if (strategy != Strategy::ma_tapioca) place.bank = room.best(place.node, bytes);
    seats.take(place.node);
    room.take(place, bytes);
    election.places.push_back(place);
  }
  return election;
}

}  // namespace weir

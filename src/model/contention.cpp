#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "model/bank_room.hpp"
#include "model/election.hpp"

// Places all domains so that the busiest links, gateways and banks have as little to do as possible.
//
// Every domain puts load on the resources along the routes of its producers and on its way to the storage. A placement
// is judged by the sum over resources of (load / bandwidth)^6, in which the busiest count most. Domains are placed one
// after another, largest first, where they raise the sum least, and moved again while that lowers it. The results, and
// those of the other strategies improved in the same way, are compared by predicted time, and the best wins.
//
// Limitations: routes are the topology's own, static; where a quick answer is wanted and there are many flows, few
// producers of a domain stand for all, few nodes are considered, and times are those of the busiest resource.
namespace weir {
namespace {

constexpr std::size_t most_candidates = 24;
constexpr std::size_t fewest_candidates = 6;
constexpr int most_sweeps = 4;
// A quick search follows about so many routes.
constexpr std::size_t quick_routes = 60'000;
// A quick search simulates sharing too, and looks at all strategies, where that takes a few milliseconds.
constexpr std::size_t most_quick_flows = 128;
constexpr int most_quick_resources = 20'000;
// Simulated sharing is for problems with at most so many flows, and climbing by it for so many simulations.
constexpr std::size_t most_climb_flows = 400;
constexpr int most_simulations = 2000;
constexpr std::size_t most_climbs = 3;

/// x^6, by multiplication alone: every node must come to the same placement, and libraries differ in `pow`.
double weight(double x) {
  const double square = x * x;
  return square * square * square;
}

class Search {
 public:
  Search(const PlacementProblem& problem, std::size_t candidates, int sweeps)
      : problem_{problem},
        machine_{*problem.machine},
        most_candidates_{candidates},
        sweeps_{sweeps},
        seats_(problem.seats_per_node()),
        room_{problem},
        load_(static_cast<std::size_t>(resources(machine_))),
        added_(load_.size()) {
    double bytes = 0, slowest = std::numeric_limits<double>::infinity();
    for (const DomainTraffic& domain : problem.traffic) bytes += domain.bytes;
    for (const LinkClass& each : machine_.topology->classes())
      if (each.bandwidth.known()) slowest = std::min(slowest, each.bandwidth.value);
    // Times are compared with that of an average domain on one link, so that powers neither vanish nor overflow.
    const double typical = bytes / static_cast<double>(problem.traffic.size()) / slowest;
    scale_ = typical > 0 ? 1 / typical : 1;
    gather_candidates();
  }

  /// Places every domain, largest first; nothing when there is no room for one.
  std::optional<Places> build() {
    clear();
    std::vector<std::size_t> order(problem_.traffic.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t d) { return problem_.traffic[d].bytes; });
    Places places(order.size(), Place{-1, 0});
    for (const std::size_t d : order) {
      places[d] = best_for(d, Place{-1, 0});
      if (places[d].node < 0) return {};
      put(d, places[d], 1);
    }
    return sweep(std::move(places));
  }

  /// Moves domains of a given placement while it gets better.
  Places improve(Places places) {
    clear();
    for (std::size_t d = 0; d < places.size(); ++d) put(d, places[d], 1);
    return sweep(std::move(places));
  }

  [[nodiscard]] const std::vector<int>& candidates(std::size_t domain) const { return candidates_[domain]; }
  [[nodiscard]] int seats() const { return seats_; }
  /// A placement with one domain on another node, in the best bank that the others leave there.
  [[nodiscard]] std::optional<Places> moved(const Places& places, std::size_t domain, int node) const {
    if (std::ranges::count(places, node, &Place::node) >= seats_) return {};
    BankRoom room{problem_};
    for (std::size_t d = 0; d < places.size(); ++d)
      if (d != domain) room.take(places[d], problem_.traffic[d].bytes);
    const int bank = room.best(node, problem_.traffic[domain].bytes);
    if (bank < 0) return {};
    Places other = places;
    other[domain] = {node, bank};
    return other;
  }
  /// With two domains in each other's place, if they fit there.
  [[nodiscard]] std::optional<Places> swapped(const Places& places, std::size_t a, std::size_t b) const {
    Places other = places;
    std::swap(other[a], other[b]);
    BankRoom room{problem_};
    for (std::size_t d = 0; d < other.size(); ++d) {
      if (!room.has_room(other[d], problem_.traffic[d].bytes)) return {};
      room.take(other[d], problem_.traffic[d].bytes);
    }
    return other;
  }

 private:
  /// All nodes of a small machine; otherwise some of those that elect, and of those next to their gateways.
  void gather_candidates() {
    std::vector<std::vector<int>> near_storage(static_cast<std::size_t>(machine_.groups()));
    const bool all = static_cast<std::size_t>(problem_.nodes()) <= most_candidates_;
    for (std::size_t d = 0; d < problem_.traffic.size(); ++d) {
      std::vector<int> nodes;
      if (all) {
        nodes.resize(static_cast<std::size_t>(problem_.nodes()));
        std::iota(nodes.begin(), nodes.end(), 0);
      } else {
        const std::vector<int> voters = problem_.electorate(static_cast<int>(d));
        const std::size_t stride = std::max<std::size_t>(1, voters.size() * 3 / (2 * most_candidates_));
        for (std::size_t k = 0; k < voters.size(); k += stride) nodes.push_back(voters[k]);
        const int group = voters[voters.size() / 2] / machine_.group_size();
        const auto& near = nearest_storage(group, near_storage[static_cast<std::size_t>(group)]);
        // Domains of one group begin at different ones of its nodes next to the gateway.
        for (std::size_t k = 0; k < std::min(near.size(), most_candidates_ / 3); ++k)
          nodes.push_back(near[(k + 3 * d) % near.size()]);
        std::ranges::sort(nodes);
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      }
      candidates_.push_back(std::move(nodes));
    }
  }

  const std::vector<int>& nearest_storage(int group, std::vector<int>& known) const {
    if (!known.empty()) return known;
    const int first = group * machine_.group_size();
    for (int node = first; node < std::min(first + machine_.group_size(), problem_.nodes()); ++node) known.push_back(node);
    std::ranges::stable_sort(known, {}, [&](int node) { return machine_.hops_to_storage(node); });
    known.resize(std::min(known.size(), most_candidates));
    return known;
  }

  void clear() {
    std::ranges::fill(load_, 0.0);
    room_ = BankRoom{problem_};
    taken_.assign(static_cast<std::size_t>(problem_.nodes()), 0);
  }

  /// Collects in `added_` what a domain would put on each resource; `touched_` says which.
  void collect(std::size_t domain, Place place) {
    touched_.clear();
    const auto add = [&](double bytes) {
      for (const int resource : path_) {
        double& here = added_[static_cast<std::size_t>(resource)];
        if (here == 0) touched_.push_back(resource);
        here += bytes;
      }
      path_.clear();
    };
    for (const Share& share : problem_.traffic[domain].producers) {
      route_gather(machine_, share.node, place, path_, problem_.reads);
      add(share.bytes);
    }
    route_store(machine_, place, path_, problem_.reads);
    add(problem_.traffic[domain].bytes);
  }

  void put(std::size_t domain, Place place, int sign) {
    collect(domain, place);
    for (const int resource : touched_) {
      const auto r = static_cast<std::size_t>(resource);
      load_[r] = std::max(0.0, load_[r] + sign * added_[r]);
      added_[r] = 0;
    }
    taken_[static_cast<std::size_t>(place.node)] += sign;
    if (sign > 0)
      room_.take(place, problem_.traffic[domain].bytes);
    else
      room_.give_back(place, problem_.traffic[domain].bytes);
  }

  [[nodiscard]] double rise(std::size_t domain, Place place) {
    collect(domain, place);
    double sum = 0;
    for (const int resource : touched_) {
      const auto r = static_cast<std::size_t>(resource);
      const double rate = scale_ / resource_bandwidth(machine_, resource);
      const double before = load_[r] * rate, after = (load_[r] + added_[r]) * rate;
      sum += weight(after) - weight(before);
      added_[r] = 0;
    }
    // Among equals the one with less to carry: long routes hurt somebody else.
    return sum + 1e-6 * static_cast<double>(touched_.size());
  }

  Place best_for(std::size_t domain, Place now) {
    Place best = now;
    double least = now.node >= 0 ? rise(domain, now) * (1 - 1e-9) : std::numeric_limits<double>::infinity();
    const auto consider = [&](int node) {
      if (node == now.node || taken_[static_cast<std::size_t>(node)] >= seats_) return;
      const Place place{node, room_.best(node, problem_.traffic[domain].bytes)};
      if (place.bank < 0) return;
      if (const double sum = rise(domain, place); sum < least) {
        least = sum;
        best = place;
      }
    };
    for (const int node : candidates_[domain]) consider(node);
    for (int node = 0; best.node < 0 && node < problem_.nodes(); ++node) consider(node);
    return best;
  }

  Places sweep(Places places) {
    for (int round = 0; round < sweeps_; ++round) {
      bool moved = false;
      for (std::size_t d = 0; d < places.size(); ++d) {
        put(d, places[d], -1);
        const Place better = best_for(d, places[d]);
        moved = moved || better != places[d];
        places[d] = better;
        put(d, places[d], 1);
      }
      if (!moved) break;
    }
    return places;
  }

  const PlacementProblem& problem_;
  const Machine& machine_;
  std::size_t most_candidates_;
  int sweeps_;
  int seats_;
  BankRoom room_;
  std::vector<double> load_, added_;
  std::vector<int> taken_, touched_, path_;
  std::vector<std::vector<int>> candidates_;
  double scale_ = 1;
};

struct Finalist {
  std::string name;
  Places places;
  double time_s = 0;
};

/// Moves one domain at a time, or lets two change places, while simulated sharing gets faster.
void climb(const PlacementProblem& problem, const Search& search, Finalist& finalist) {
  auto& [name, places, best] = finalist;
  int left = most_simulations;
  const auto try_out = [&](const std::optional<Places>& other) {
    if (!other) return false;
    --left;
    const double time = predict_by_sharing(problem, *other).total_s;
    if (time >= best * (1 - 1e-9)) return false;
    best = time;
    places = *other;
    return true;
  };
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (std::size_t d = 0; d < places.size() && left > 0; ++d) {
      for (const int node : search.candidates(d)) moved = try_out(search.moved(places, d, node)) || moved;
      for (std::size_t e = d + 1; e < places.size() && left > 0; ++e)
        moved = try_out(search.swapped(places, d, e)) || moved;
    }
  }
}

/// What the first domain would cost elsewhere: the predicted time of the whole with it there and all others as they
/// are.
std::vector<Candidate> candidates_of_first(const PlacementProblem& problem, const Search& search, const Places& places,
                                           const std::function<double(const Places&)>& predicted, std::size_t most) {
  std::vector<Candidate> found;
  const std::vector<Bank>& banks = problem.machine->banks;
  const double bytes = problem.traffic.front().bytes;
  for (int bank = 0; bank < static_cast<int>(banks.size()); ++bank) {
    Candidate candidate{0, {places.front().node, bank}, 0, {}};
    candidate.unfit = problem.unfit(banks[static_cast<std::size_t>(bank)], bytes).value_or("");
    Places other = places;
    other.front() = candidate.place;
    candidate.cost_s = predicted(other);
    found.push_back(std::move(candidate));
  }
  if (banks.empty()) found.push_back({0, places.front(), predicted(places), {}});
  const std::vector<int>& nodes = search.candidates(0);
  const std::size_t stride = (nodes.size() + most - 1) / most;
  for (std::size_t k = 0; k < nodes.size(); k += stride) {
    if (nodes[k] == places.front().node) continue;
    Candidate& candidate = found.emplace_back();
    candidate.place.node = nodes[k];
    const std::optional<Places> other = search.moved(places, 0, nodes[k]);
    if (other)
      candidate.place = other->front();
    else
      candidate.unfit = "aggregates other domains already";
    candidate.cost_s = predicted(other ? *other : places);
  }
  return found;
}

}  // namespace

Result<Election> elect_by_contention(const PlacementProblem& given, Effort effort) {
  const bool quick = effort == Effort::quick;
  std::size_t flows = 0;
  for (const DomainTraffic& domain : given.traffic) flows += domain.producers.size() + 1;
  const bool simulates = !quick || (flows <= most_quick_flows && resources(*given.machine) <= most_quick_resources);
  const std::size_t each = std::max<std::size_t>(1, quick_routes / (3 * given.traffic.size()));
  const std::size_t candidates = quick ? std::clamp(each / 16, fewest_candidates, most_candidates) : most_candidates;
  const PlacementProblem problem{
      given, quick ? thinned(given.traffic, std::max<std::size_t>(2, each / candidates)) : given.traffic};
  Search search{problem, candidates, quick ? 1 : most_sweeps};
  LoadPredictor loads{*problem.machine};
  const auto predicted = [&](const Places& places) {
    return (simulates ? predict_by_sharing(problem, places) : loads.predict(problem, places)).total_s;
  };
  std::vector<Finalist> finalists;
  const auto add = [&](std::string name, Places places) {
    const double time = predicted(places);
    finalists.push_back({std::move(name), std::move(places), time});
  };
  std::optional<Places> built = search.build();
  if (built) add("own search", std::move(*built));
  for (const Strategy other : {Strategy::greedy, Strategy::shortest_path, Strategy::longest_path, Strategy::random,
                               Strategy::tapioca, Strategy::ma_tapioca}) {
    if (!simulates && other != Strategy::shortest_path) continue;
    Result<Election> election = elect(problem, other, effort);
    if (!election) return election.status();
    add(std::string{name(other)}, election->places);
    add(fmt::format("{} improved", name(other)), search.improve(std::move(election->places)));
  }
  std::ranges::stable_sort(finalists, {}, &Finalist::time_s);
  if (!quick && flows <= most_climb_flows)
    for (std::size_t k = 0; k < std::min(most_climbs, finalists.size()); ++k) {
      const double before = finalists[k].time_s;
      climb(problem, search, finalists[k]);
      if (finalists[k].time_s < before) finalists[k].name += ", moved one by one";
    }
  std::ranges::stable_sort(finalists, {}, &Finalist::time_s);
  Election election;
  election.places = finalists.front().places;
  for (const Finalist& finalist : finalists) election.rivals.push_back({finalist.name, finalist.time_s});
  election.candidates =
      candidates_of_first(problem, search, election.places, predicted, quick ? fewest_candidates : most_candidates);
  return election;
}

}  // namespace weir

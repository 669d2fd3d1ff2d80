#include <algorithm>
#include <limits>
#include <numeric>

#include "model/election.hpp"

// Places all domains so that the busiest links, gateways and banks have as little to do as possible.
//
// Every domain puts load on the resources along the routes of its producers and on its way to the storage. A placement is
// judged by the sum over resources of (load / bandwidth)^6, in which the busiest count most. Domains
// are placed one after another, largest first, where they raise the sum least, and moved again while that lowers it. The
// results, and those of the other strategies improved in the same way, are compared by predicted time, and the best wins.
//
// Limitations: routes are the topology's own, static; where a quick answer is wanted, few producers of a domain stand for
// all, and few nodes are considered.
namespace weir {
namespace {

constexpr std::size_t most_candidates = 24;
constexpr std::size_t fewest_candidates = 6;
constexpr int most_sweeps = 4;
// A quick search follows about so many routes.
constexpr std::size_t quick_routes = 60'000;
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
        load_(static_cast<std::size_t>(resources(machine_))),
        added_(load_.size()) {
    double bytes = 0, slowest = std::numeric_limits<double>::infinity();
    for (const DomainTraffic& domain : problem.traffic) {
      banks_.push_back(std::max(0, fastest_bank(problem, domain.bytes)));
      bytes += domain.bytes;
    }
    for (const LinkClass& each : machine_.topology->classes())
      if (each.bandwidth.known()) slowest = std::min(slowest, each.bandwidth.value);
    // Times are compared with that of an average domain on one link, so that powers neither vanish nor overflow.
    const double typical = bytes / static_cast<double>(problem.traffic.size()) / slowest;
    scale_ = typical > 0 ? 1 / typical : 1;
    gather_candidates();
  }

  /// Places every domain, largest first.
  Places build() {
    clear();
    std::vector<std::size_t> order(problem_.traffic.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t d) { return problem_.traffic[d].bytes; });
    Places places(order.size(), Place{-1, 0});
    for (const std::size_t d : order) {
      places[d] = best_for(d, Place{-1, 0});
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
  [[nodiscard]] int bank(std::size_t domain) const { return banks_[domain]; }
  [[nodiscard]] int seats() const { return seats_; }

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
      route_gather(machine_, share.node, place, path_);
      add(share.bytes);
    }
    route_store(machine_, place, path_);
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
      const Place place{node, banks_[domain]};
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
  std::vector<double> load_, added_;
  std::vector<int> taken_, touched_, path_;
  std::vector<std::vector<int>> candidates_;
  std::vector<int> banks_;
  double scale_ = 1;
};

struct Finalist {
  Places places;
  double time_s = 0;
};

/// Moves one domain at a time, or lets two change places, while simulated sharing gets faster.
void climb(const PlacementProblem& problem, const Search& search, Finalist& finalist) {
  auto& [places, best] = finalist;
  int left = most_simulations;
  const auto try_out = [&](const Places& other) {
    --left;
    const double time = predict_by_sharing(problem, other).total_s;
    if (time >= best * (1 - 1e-9)) return false;
    best = time;
    places = other;
    return true;
  };
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (std::size_t d = 0; d < places.size() && left > 0; ++d) {
      for (const int node : search.candidates(d)) {
        if (std::ranges::count(places, node, &Place::node) >= search.seats()) continue;
        Places other = places;
        other[d] = {node, search.bank(d)};
        moved = try_out(other) || moved;
      }
      for (std::size_t e = d + 1; e < places.size() && left > 0; ++e) {
        Places other = places;
        std::swap(other[d].node, other[e].node);
        moved = try_out(other) || moved;
      }
    }
  }
}

}  // namespace

Result<Places> place_by_contention(const PlacementProblem& given, Effort effort) {
  const std::size_t each = std::max<std::size_t>(1, quick_routes / (3 * given.traffic.size()));
  const std::size_t candidates =
      effort == Effort::quick ? std::clamp(each / 16, fewest_candidates, most_candidates) : most_candidates;
  const PlacementProblem problem{
      given, effort == Effort::quick ? thinned(given.traffic, std::max<std::size_t>(2, each / candidates)) : given.traffic};
  Search search{problem, candidates, effort == Effort::quick ? 1 : most_sweeps};
  std::vector<Places> found{search.build()};
  for (const Strategy other : {Strategy::greedy, Strategy::shortest_path, Strategy::longest_path, Strategy::random,
                               Strategy::tapioca, Strategy::ma_tapioca}) {
    if (effort == Effort::quick && other != Strategy::shortest_path) continue;
    Result<Election> election = elect(problem, other, effort);
    if (!election) return election.status();
    found.push_back(election->places);
    found.push_back(search.improve(std::move(election->places)));
  }
  std::vector<Finalist> finalists;
  for (Places& places : found) {
    const double time =
        (effort == Effort::thorough ? predict_by_sharing(problem, places) : predict_from_loads(problem, places)).total_s;
    finalists.push_back({std::move(places), time});
  }
  std::ranges::stable_sort(finalists, {}, &Finalist::time_s);
  std::size_t flows = 0;
  for (const DomainTraffic& domain : problem.traffic) flows += domain.producers.size() + 1;
  if (effort == Effort::thorough && flows <= most_climb_flows)
    for (std::size_t k = 0; k < std::min(most_climbs, finalists.size()); ++k) climb(problem, search, finalists[k]);
  return std::ranges::min_element(finalists, {}, &Finalist::time_s)->places;
}

}  // namespace weir

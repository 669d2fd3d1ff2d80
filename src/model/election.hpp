#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weir/status.hpp>

#include "model/cost_model.hpp"
#include "model/flows.hpp"

namespace weir {

/// How aggregators are chosen: the papers' strategies and models, and ours.
enum class Strategy : std::uint8_t { greedy, shortest_path, longest_path, random, tapioca, ma_tapioca, contention };

inline constexpr std::array strategies{Strategy::greedy,  Strategy::shortest_path, Strategy::longest_path, Strategy::random,
                                       Strategy::tapioca, Strategy::ma_tapioca,    Strategy::contention};

std::string_view name(Strategy strategy) noexcept;
Result<Strategy> parse_strategy(std::string_view text);

/// A place that was considered, and what spoke for or against it.
struct Candidate {
  int domain = 0;
  Place place;
  double cost_s = 0;
  std::string unfit;  ///< why it was out of the question; empty when it was not
};

/// A whole placement that was considered.
struct Rival {
  std::string name;
  double seconds = 0;  ///< predicted
};

struct Election {
  Places places;
  std::vector<Candidate> candidates;  ///< of domain 0 and a few more: enough to explain, not all of them
  std::vector<Rival> rivals;          ///< of a strategy that compares placements
};

/// How much may be spent on our own strategy: `quick` looks at loads only, `thorough` also simulates sharing.
enum class Effort : std::uint8_t { quick, thorough };

/// Chooses a place for every domain. The same answer wherever it is asked. Fails when no bank can hold the buffers.
Result<Election> elect(const PlacementProblem& problem, Strategy strategy, Effort effort = Effort::quick,
                       std::uint64_t seed = 1);

/// Our own: see contention.cpp.
Result<Election> elect_by_contention(const PlacementProblem& problem, Effort effort);

/// Says that no bank will do, and why each does not.
Status no_bank(const PlacementProblem& problem, double domain_bytes);
/// Says that those that would are taken by other domains, on all nodes that may aggregate.
Status no_room(const PlacementProblem& problem);

}  // namespace weir

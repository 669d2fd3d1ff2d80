#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include <weir/settings.hpp>

#include "pattern.hpp"

/// What planning costs, by the number of pieces: all ranks' plans, made one after another in this process without MPI.
namespace weir::bench {

struct PlanningCost {
  std::string pattern;
  std::uint64_t pieces = 0;  ///< as declared
  std::uint64_t windows = 0;
  std::vector<double> times_s;          ///< of each run
  std::uint64_t list_bytes = 0;         ///< what the plans of all ranks keep
  std::uint64_t peak_memory_bytes = 0;  ///< growth of the resident memory while they are made, the declaration excluded

  [[nodiscard]] double median_s() const;
  [[nodiscard]] double ns_per_piece() const;
  /// Of ns_per_piece: equal for all sizes when the time is n log n.
  [[nodiscard]] double ns_per_piece_log2() const;
};

struct PlanningRequest {
  int ranks = 16;
  int nodes = 1;
  bool read = false;
  Settings settings;
};

/// Throws what is wrong with the settings.
PlanningCost planning_cost(const Pattern& pattern, std::uint64_t pieces, const PlanningRequest& request);

/// A table for people.
std::string table(const std::vector<PlanningCost>& costs, const PlanningRequest& request);
nlohmann::ordered_json to_json(const std::vector<PlanningCost>& costs, const PlanningRequest& request);

}  // namespace weir::bench

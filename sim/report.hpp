#pragma once

#include <nlohmann/json.hpp>

#include "experiment.hpp"

namespace weir::sim {

/// What came of an experiment, told in several ways.
struct Report {
  const Experiment* experiment = nullptr;
  Findings findings;
  std::vector<Variation> variations;  ///< of the sweep, if there was one

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string markdown(const std::string& plot) const;
  [[nodiscard]] nlohmann::ordered_json json() const;
  /// Bars of all cases, the paper's beside ours.
  [[nodiscard]] std::string svg() const;
};

}  // namespace weir::sim

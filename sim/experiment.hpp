#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::sim {

/// A number that no document gives, or that could have been another.
struct Assumption {
  std::string name;
  double value = 0;
  std::string unit;
  std::string origin;
  std::vector<double> others;  ///< that a sweep tries; half and double unless given

  [[nodiscard]] std::vector<double> tried() const {
    return others.empty() ? std::vector<double>{value / 2, value * 2} : others;
  }
};

class Assumptions {
 public:
  Assumptions(std::vector<Assumption> all) : all_{std::move(all)} {}

  /// The value of one that there is.
  double operator[](std::string_view name) const;
  [[nodiscard]] Assumptions with(std::string_view name, double value) const;
  [[nodiscard]] const std::vector<Assumption>& all() const noexcept { return all_; }

 private:
  std::vector<Assumption> all_;
};

/// One line of a comparison.
struct Case {
  std::string name;
  std::optional<double> paper;
  double simulated = 0;
  int relative_to = -1;  ///< the case that this one is measured by; -1: none
};

/// Something that the paper, or we, say about the cases.
struct Claim {
  std::string text;
  bool holds = false;
};

struct Findings {
  std::vector<Case> cases;
  std::vector<Claim> claims;
};

enum class Scope { all, only_claims };

/// An experiment of a paper, repeated on the simulated machine.
struct Experiment {
  std::string name;
  std::string title;
  std::string source;
  std::string unit;
  std::string modelled;
  std::string remarks;  ///< what does not come out, and which assumption decides
  Assumptions assumptions;
  Findings (*run)(const Assumptions& assumptions, Scope scope);  ///< a sweep needs only what the claims are about
};

const std::vector<Experiment>& experiments();
/// Throws with the nearest name when there is none.
const Experiment& find_experiment(std::string_view name);

Experiment placement_mira();
Experiment buffers_mira();
Experiment hacc_mira();
Experiment array_theta();
Experiment hacc_theta();
Experiment tiers_theta();
Experiment node_storage_theta();
Experiment psets_intrepid();
Experiment remote_memory_cooley();
Experiment library();

/// One run with another value of an assumption.
struct Variation {
  std::string assumption;
  double value = 0;
  std::vector<Claim> claims;
};
std::vector<Variation> sweep(const Experiment& experiment);

}  // namespace weir::sim

#pragma once

#include <memory>
#include <string_view>

#include "model/problem.hpp"

namespace weir {

/// What it costs to aggregate a domain in a place, in seconds, whatever the other domains do.
class CostModel {
 public:
  virtual ~CostModel() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual double cost(const PlacementProblem& problem, int domain, Place place) const = 0;
};

/// TAPIOCA (COM-HPC 2016): C1 = max over nodes i of (l d(i,A) + w(i,A) / B(i->A)),
/// C2 = l d(A,IO) + w(A,IO) / (|V_C| B(A->IO)), cost C1 + C2, with |V_C| the number of producing nodes.
/// Limitations: knows no memory and no traffic of other domains.
class TapiocaModel : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "tapioca"; }
  [[nodiscard]] double cost(const PlacementProblem& problem, int domain, Place place) const override;
};

/// MA-TAPIOCA (ICS 2018): sum over producers i of (l d(i,A) + w(i,A) / B(i->A)) plus l d(A,T) + w(A,T) / B(A->T), with
/// l = max(l_network, l_bank) and B = min(B_network, B_i, B_bank).
/// The aggregator's own data is charged one hop at the bank's latency, and the way to the target the network's latency:
/// so the paper's tables come out. Limitations: producers are served one after another; no traffic of other domains.
class MaTapiocaModel : public CostModel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "ma-tapioca"; }
  [[nodiscard]] double cost(const PlacementProblem& problem, int domain, Place place) const override;
};

/// The bank that applications' data is in: the first of kind "dram", or else the first one.
const Bank* source_bank(const Machine& machine) noexcept;

}  // namespace weir

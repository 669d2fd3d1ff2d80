#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"
#include "model/bank_room.hpp"
#include "model/explanation.hpp"
#include "model/machine_rule.hpp"
#include "plan/plan.hpp"

namespace weir {
namespace {

Demand demand_of(const Layout& layout, const NodeMap& nodes) {
  Demand demand;
  demand.direction = layout.direction;
  demand.bytes = layout.bytes;
  demand.pieces = layout.pieces;
  demand.nodes = &nodes;
  // Who has most is not kept in a layout.
  demand.busiest_rank_pieces =
      (layout.pieces + static_cast<std::uint64_t>(nodes.ranks()) - 1) / static_cast<std::uint64_t>(nodes.ranks());
  return demand;
}

/// Buffers are in ordinary memory unless a bank was chosen.
int bank_of(const Layout& layout, const Machine& machine, std::size_t domain) {
  if (!layout.placement.banks.empty()) return static_cast<int>(layout.placement.banks[domain]);
  const auto dram =
      std::ranges::find_if(machine.banks, [](const Bank& b) { return b.kind == "dram" && b.path.empty(); });
  return dram == machine.banks.end() ? 0 : static_cast<int>(dram - machine.banks.begin());
}

}  // namespace

Opinion opinion_on(const Layout& layout, const NodeMap& nodes, const Machine& machine) {
  const Demand demand = demand_of(layout, nodes);
  const double direct = direct_s(machine, demand);
  if (layout.domains.empty()) return {explain_direct(machine, demand, direct), direct};
  PlacementProblem problem;
  problem.machine = &machine;
  problem.buffers = static_cast<int>(layout.placement.buffers);
  problem.buffer_bytes = static_cast<double>(layout.placement.buffer_size);
  problem.most_per_node = static_cast<int>(layout.domains.size());
  Election election;
  for (std::size_t d = 0; d < layout.domains.size(); ++d) {
    const Domain& domain = layout.domains[d];
    const auto bytes =
        static_cast<double>(layout.cuts[domain.first_window + domain.windows] - layout.cuts[domain.first_window]);
    problem.traffic.push_back({{{0, bytes}}, bytes});
    election.places.push_back({0, bank_of(layout, machine, d)});
  }
  const Prediction prediction = predict_from_loads(problem, election.places);
  for (int bank = 0; bank < static_cast<int>(machine.banks.size()); ++bank) {
    Places other = election.places;
    other.front().bank = bank;
    election.candidates.push_back(
        {0, other.front(), predict_from_loads(problem, other).total_s,
         problem.unfit(machine.banks[static_cast<std::size_t>(bank)], problem.traffic[0].bytes).value_or("")});
  }
  election.rivals = {{"as planned", prediction.total_s}, {"every rank for itself", direct}};
  return {explain_election(problem, {"rule of thumb", "what such storage was measured to like"}, election, prediction),
          prediction.total_s};
}

}  // namespace weir

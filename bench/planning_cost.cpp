#include "planning_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/units.hpp"
#include "plan/plan.hpp"
#include "resident_memory.hpp"
#include "statistics.hpp"
#include "text_table.hpp"
#include "weir/weir.hpp"

namespace weir::bench {
namespace {

// A short run is repeated until there is as much to measure as this.
constexpr double enough_s = 0.5;
constexpr std::size_t most_runs = 15;

std::uint64_t declared_pieces(const std::vector<Declaration>& declarations) {
  std::uint64_t total = 0;
  for (const Declaration& declaration : declarations) {
    std::vector<std::uint64_t> counts;
    for (const auto& shape : declaration.shapes()) {
      std::uint64_t count = 0;
      for (const Run& run : shape.runs) count += run.count;
      counts.push_back(count);
    }
    for (const auto& variable : declaration.variable_list()) total += counts[static_cast<std::size_t>(variable.shape)];
  }
  return total;
}

std::vector<RankPlan> plans_of(const std::vector<Declaration>& declarations, const PlanRequest& request) {
  std::vector<RankDeclaration> ranks;
  ranks.reserve(declarations.size());
  for (const Declaration& declaration : declarations) ranks.push_back(RankDeclaration::of(declaration).value());
  return plan_all(std::move(ranks), request);
}

}  // namespace

double PlanningCost::median_s() const { return median(times_s); }
double PlanningCost::ns_per_piece() const { return 1e9 * median_s() / static_cast<double>(pieces); }
double PlanningCost::ns_per_piece_log2() const {
  return ns_per_piece() / std::max(1.0, std::log2(static_cast<double>(pieces)));
}

PlanningCost planning_cost(const Pattern& pattern, std::uint64_t pieces, const PlanningRequest& request) {
  auto settings = ResolvedSettings::resolve(request.settings);
  if (!settings) throw Error{settings.status()};
  const NodeMap nodes = NodeMap::blocks(request.ranks, (request.ranks + request.nodes - 1) / request.nodes);
  const SimpleRule model;
  PlanRequest plan_request;
  plan_request.direction = request.read ? Direction::read : Direction::write;
  plan_request.nodes = &nodes;
  plan_request.limits = PlanLimits::of(*settings);
  plan_request.model = &model;

  const std::vector<Declaration> declarations = pattern.make(pieces, request.ranks);
  PlanningCost cost;
  cost.pattern = pattern.name;
  cost.pieces = declared_pieces(declarations);
  const auto run = [&] {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<RankPlan> plans = plans_of(declarations, plan_request);
    cost.times_s.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return plans;
  };
  {
    const ResidentMemory memory;
    const std::vector<RankPlan> plans = run();
    cost.peak_memory_bytes = memory.peak_growth();
    cost.windows = plans.front().layout.windows();
    for (const RankPlan& plan : plans) cost.list_bytes += plan.list_bytes();
  }
  if (cost.times_s.front() >= enough_s) return cost;
  // The first run also paid for memory that had just been given back to the system.
  cost.times_s.clear();
  double used_s = 0;
  while (used_s < enough_s && cost.times_s.size() < most_runs) {
    run();
    used_s += cost.times_s.back();
  }
  return cost;
}

std::string table(const std::vector<PlanningCost>& costs, const PlanningRequest& request) {
  std::vector<std::vector<std::string>> lines{
      {"pattern", "pieces", "windows", "time", "ns/piece", "ns/piece/log2", "list B/piece", "peak B/piece", "runs"}};
  for (const PlanningCost& cost : costs) {
    const auto pieces = static_cast<double>(cost.pieces);
    lines.push_back({cost.pattern, std::to_string(cost.pieces), std::to_string(cost.windows),
                     format_seconds(cost.median_s()), fmt::format("{:.1f}", cost.ns_per_piece()),
                     fmt::format("{:.2f}", cost.ns_per_piece_log2()),
                     fmt::format("{:.1f}", static_cast<double>(cost.list_bytes) / pieces),
                     fmt::format("{:.1f}", static_cast<double>(cost.peak_memory_bytes) / pieces),
                     std::to_string(cost.times_s.size())});
  }
  return fmt::format("plans of {} ranks on {} node{} to {}, made one after another in one process\n\n{}", request.ranks,
                     request.nodes, request.nodes == 1 ? "" : "s", request.read ? "read" : "write", aligned(lines));
}

nlohmann::ordered_json to_json(const std::vector<PlanningCost>& costs, const PlanningRequest& request) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const PlanningCost& cost : costs) {
    nlohmann::ordered_json result{{"pattern", cost.pattern},
                                  {"pieces", cost.pieces},
                                  {"windows", cost.windows},
                                  {"times_s", cost.times_s},
                                  {"median_s", cost.median_s()},
                                  {"ns_per_piece", cost.ns_per_piece()},
                                  {"ns_per_piece_log2", cost.ns_per_piece_log2()},
                                  {"list_bytes", cost.list_bytes},
                                  {"peak_memory_bytes", cost.peak_memory_bytes}};
    results.push_back(std::move(result));
  }
  return {{"weir", version()},
          {"ranks", request.ranks},
          {"nodes", request.nodes},
          {"operation", request.read ? "read" : "write"},
          {"settings", request.settings},
          {"results", results}};
}

}  // namespace weir::bench

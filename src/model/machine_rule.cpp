#include "model/machine_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "core/units.hpp"
#include "model/election.hpp"
#include "model/explanation.hpp"
#include "model/three_phases.hpp"

namespace weir {
namespace {

// Aggregators a node at most, and sizes of buffers that are tried.
constexpr int most_per_node = 2;
constexpr std::uint64_t sizes[] = {std::uint64_t{1} << 20, std::uint64_t{4} << 20, std::uint64_t{16} << 20};
// A larger choice must be this much faster than a smaller one.
constexpr double worth_it = 0.98;

struct Choice {
  int aggregators = 1;
  std::uint64_t buffer = 0;
  double seconds = std::numeric_limits<double>::infinity();
};

/// A call of a file system over a network is never free, also where nobody has measured it.
double storage_call_s(const Machine& machine) {
  constexpr double assumed = 1e-4;
  return machine.storage.latency.known() ? machine.storage.latency.value : assumed;
}

/// The least time in which storage that takes call after call is through with so many.
double calls_s(const Machine& machine, double calls) {
  return machine.storage.call.known() ? calls * machine.storage.call.value : 0;
}

double slowest_link_latency(const Machine& machine) {
  double most = 0;
  for (const LinkClass& each : machine.topology->classes()) most = std::max(most, each.latency.value);
  return most;
}

/// Tries some numbers of aggregators with some sizes of buffers.
class Trial {
 public:
  Trial(const Machine& machine, const Demand& demand, const PlanLimits& limits)
      : machine_{machine}, demand_{demand}, limits_{limits}, loads_{machine} {
    problem_.machine = &machine;
    problem_.reads = demand.direction == Direction::read;
    problem_.job_nodes = demand.nodes->nodes();
    problem_.most_per_node = most_per_node;
    problem_.buffers = static_cast<int>(limits.buffers);
  }

  /// With a bank, in three phases through it.
  Choice best(const Bank* servers = nullptr) {
    best_ = {};
    servers_ = servers;
    const int nodes = demand_.nodes->nodes(), most = std::min(demand_.nodes->ranks(), most_per_node * nodes);
    if (limits_.aggregators) {
      consider(std::min<int>(static_cast<int>(limits_.aggregators), demand_.nodes->ranks()));
      return best_;
    }
    const int groups = (nodes + machine_.group_size() - 1) / machine_.group_size();
    for (int count = std::min(groups, most); count <= most; count *= 2) consider(count);
    return best_;
  }

 private:
  void consider(int aggregators) {
    const std::vector<double> bytes(static_cast<std::size_t>(demand_.nodes->nodes()),
                                    static_cast<double>(demand_.bytes) / demand_.nodes->nodes());
    problem_.traffic = traffic_in_order(bytes, aggregators);
    if (problem_.traffic.empty()) return;
    const std::uint64_t room = std::max<std::uint64_t>(1, limits_.memory / limits_.buffers);
    std::uint64_t tried = 0;
    std::optional<Prediction> known;
    for (const std::uint64_t size : sizes) {
      const std::uint64_t buffer = std::min(limits_.buffer_size ? limits_.buffer_size : size, room);
      if (buffer == tried) break;
      tried = buffer;
      problem_.buffer_bytes = static_cast<double>(buffer);
      Prediction prediction;
      if (known && fits_anywhere()) {  // then the aggregators are where they were
        prediction = with_buffers(*known, problem_);
      } else {
        Result<Election> election = elect(problem_, Strategy::shortest_path);
        if (!election) continue;
        prediction = servers_ ? predict_three_phases(problem_, election->places, *servers_, demand_.direction)
                              : loads_.predict(problem_, election->places);
        if (!servers_) known = prediction;
      }
      const double seconds = std::max(prediction.total_s, calls_s(machine_, 1.0 * aggregators * prediction.rounds)) +
                             prediction.rounds * (servers_ ? storage_call_s(machine_) : round_s(machine_));
      if (seconds < best_.seconds * worth_it) best_ = {aggregators, buffer, seconds};
    }
  }

  /// Whether every bank holds as many aggregators as a node may have.
  [[nodiscard]] bool fits_anywhere() const {
    return std::ranges::all_of(machine_.banks, [&](const Bank& bank) {
      return !bank.capacity.known() || bank.capacity.value >= problem_.seats_per_node() * problem_.needed(0);
    });
  }

  const Machine& machine_;
  const Demand& demand_;
  const PlanLimits& limits_;
  PlacementProblem problem_;
  LoadPredictor loads_;
  const Bank* servers_ = nullptr;
  Choice best_;
};

std::string words(const Choice& choice, const PlanLimits& limits) {
  return fmt::format("{} aggregator{} with {} buffer{} of {} {}", choice.aggregators, choice.aggregators == 1 ? "" : "s",
                     limits.buffers, limits.buffers == 1 ? "" : "s", format_bytes(choice.buffer),
                     format_seconds(choice.seconds));
}

/// The way through memory servers, and what speaks against it.
struct Detour {
  const Bank* bank = nullptr;
  Choice choice;
  std::optional<std::string> unfit;

  Detour(const Machine& machine, const Demand& demand, const PlanLimits& limits, Trial& trial) {
    if (limits.remote == PlanLimits::Remote::no || !(bank = machine.server_bank())) return;
    unfit = unfit_for_three_phases(*bank, demand.nodes->nodes(), static_cast<double>(demand.bytes));
    if (!unfit) choice = trial.best(bank);
  }
  [[nodiscard]] std::string words(const PlanLimits& limits) const {
    if (!bank) return {};
    return fmt::format(", in three phases through bank '{}' {}", bank->name,
                       unfit ? "is out (" + *unfit + ")" : weir::words(choice, limits));
  }
};

}  // namespace

double direct_s(const Machine& machine, const Demand& demand) {
  std::vector<double> load(static_cast<std::size_t>(machine.links()));
  const int nodes = demand.nodes->nodes();
  const double each = static_cast<double>(demand.bytes) / nodes;
  std::vector<int> path;
  double busiest = 0;
  for (int node = 0; node < nodes; ++node) {
    path.clear();
    demand.direction == Direction::read ? machine.route_from_storage(node, path) : machine.route_to_storage(node, path);
    for (const int link : path) {
      double& here = load[static_cast<std::size_t>(link)];
      here += each;
      busiest = std::max(busiest, here / machine.link_bandwidth(link));
    }
  }
  return std::max(busiest, calls_s(machine, static_cast<double>(demand.pieces))) +
         static_cast<double>(demand.busiest_rank_pieces) * storage_call_s(machine);
}

double round_s(const Machine& machine) { return storage_call_s(machine) + slowest_link_latency(machine); }

Placement MachineRule::place(const Demand& demand, const PlanLimits& limits) const {
  const SimpleRule rule_of_thumb;
  if (demand.bytes == 0) return rule_of_thumb.place(demand, limits);
  const bool alone = demand.nodes->nodes() == 1;
  if (alone && (limits.remote == PlanLimits::Remote::no || !machine_.server_bank() ||
                rule_of_thumb.place(demand, limits).mode == Mode::direct))
    return rule_of_thumb.place(demand, limits);
  Trial trial{machine_, demand, limits};
  const Choice aggregated = trial.best();
  if (aggregated.seconds == std::numeric_limits<double>::infinity()) return rule_of_thumb.place(demand, limits);
  const Detour detour{machine_, demand, limits, trial};
  const bool three = limits.remote == PlanLimits::Remote::must || detour.choice.seconds < aggregated.seconds * worth_it;
  const Choice& choice = three && !detour.unfit && detour.bank ? detour.choice : aggregated;
  const double direct = direct_s(machine_, demand);
  PlanLimits chosen = limits;
  if (alone || limits.remote == PlanLimits::Remote::must) chosen.mode = PlanLimits::Prefer::aggregate;
  if (!alone) {
    chosen.aggregators = static_cast<std::uint32_t>(choice.aggregators);
    chosen.buffer_size = choice.buffer;
    if (chosen.mode == PlanLimits::Prefer::any)
      chosen.mode = direct <= choice.seconds ? PlanLimits::Prefer::direct : PlanLimits::Prefer::aggregate;
  }
  Placement placement = rule_of_thumb.place(demand, chosen);
  const bool is_direct = placement.mode == Mode::direct;
  if (is_direct) {
    placement.predicted_s = direct;
    placement.details = explain_direct(machine_, demand, direct);
  }
  placement.remote = three && !is_direct;
  placement.why = fmt::format(
      "{}: every rank for itself would take {}, {}{}; {}",
      is_direct ? "direct" : placement.remote ? "aggregate in three phases" : "aggregate", format_seconds(direct),
      words(aggregated, limits), detour.words(limits),
      limits.remote == PlanLimits::Remote::must ? "memory.tier asks for it"
      : alone                                   ? "the faster one of those that aggregate"
      : limits.mode != PlanLimits::Prefer::any  ? "plan.mode asks for it"
                                                : detour.bank                             ? "the fastest one"
                                                : "the faster one");
  return placement;
}

}  // namespace weir

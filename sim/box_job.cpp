#include "box_job.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/machine_rule.hpp"
#include "simulate.hpp"

namespace weir::sim {
namespace {

/// As the launcher of a box spreads them: in blocks, the first hosts with one more when they are not even.
NodeMap ranks_in_box(int ranks, int hosts) {
  std::vector<int> node_of;
  for (int host = 0; host < hosts; ++host)
    node_of.insert(node_of.end(), static_cast<std::size_t>(ranks / hosts + (host < ranks % hosts)), host);
  return NodeMap::of(std::move(node_of));
}

class BoxSchedule {
 public:
  BoxSchedule(const BoxJob& job, const box::Cluster& cluster)
      : cluster_{cluster}, stripe_{job.stripe}, call_s_{job.machine.storage.latency.value}, schedule_{job.machine} {
    if (const Latency& call = job.machine.storage.call; call.known())
      calls_ = schedule_.way({Endpoint::Kind::device, 0}, {Endpoint::Kind::storage, 0},
                             {schedule_.add_resource(1 / call.value)}, 0);
    const auto compute = static_cast<int>(cluster.names(box::Role::compute).size());
    for (std::size_t k = 0; k < cluster.names(box::Role::storage).size(); ++k)
      storage_.push_back(compute + static_cast<int>(k));
    for (const LinkClass& each : job.machine.topology->classes()) hop_s_ = std::max(hop_s_, each.latency.value);
  }

  [[nodiscard]] const Schedule& schedule() const noexcept { return schedule_; }
  int move(int from, int to, std::uint64_t bytes, std::vector<int> after, double delay_s = 0) {
    return schedule_.transfer(way(from, to), bytes, std::move(after), delay_s);
  }
  /// A part of the file between a host and the storage hosts that its stripes lie on.
  void store(int host, Extent extent, Direction direction, const std::vector<int>& after, std::vector<int>& steps) {
    std::vector<std::uint64_t> bytes(storage_.size());
    for (std::uint64_t at = extent.offset; at < extent.end();) {
      const std::uint64_t end = std::min(extent.end(), (at / stripe_ + 1) * stripe_);
      bytes[at / stripe_ % storage_.size()] += end - at;
      at = end;
    }
    const std::vector<int> served = calls_ ? std::vector{schedule_.transfer(*calls_, 1, after)} : after;
    for (std::size_t k = 0; k < storage_.size(); ++k) {
      if (bytes[k] == 0) continue;
      const bool write = direction == Direction::write;
      steps.push_back(move(write ? host : storage_[k], write ? storage_[k] : host, bytes[k], served, call_s_));
    }
  }

 private:
  int way(int from, int to) {
    std::vector<int> wires;
    int here = from;
    for (const int next : cluster_.path(from, to)) wires.push_back(wire(std::exchange(here, next), next));
    const double latency_s = hop_s_ * static_cast<double>(wires.size());
    return schedule_.way({Endpoint::Kind::device, from}, {Endpoint::Kind::device, to}, std::move(wires), latency_s);
  }
  int wire(int from, int to) {
    const auto [at, is_new] = wires_.try_emplace({from, to}, 0);
    if (is_new) at->second = schedule_.add_resource(cluster_.rate(from, to).bytes_per_s * box::payload_part);
    return at->second;
  }

  const box::Cluster& cluster_;
  std::uint64_t stripe_;
  double call_s_, hop_s_ = 0;
  Schedule schedule_;
  std::optional<int> calls_;  // where they take turns, in calls instead of bytes
  std::vector<int> storage_;
  std::map<std::pair<int, int>, int> wires_;
};

/// Every rank for itself, one call after another.
void schedule_direct(BoxSchedule& schedule, const std::vector<RankPlan>& plans, const NodeMap& nodes) {
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const RankDeclaration& declaration = plans[rank].declaration;
    std::vector<int> last;
    for (std::size_t v = 0; v < declaration.variables.size(); ++v)
      declaration.pieces(v).for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
        std::vector<int> steps;
        schedule.store(nodes.node_of[rank], {offset + declaration.variables[v].at, length},
                       plans[rank].layout.direction, last, steps);
        last = std::move(steps);
      });
  }
}

/// The parts of the file that a window has, without what is left out between them.
std::vector<Extent> extents_of(const Layout& layout, std::size_t window) {
  std::vector<Extent> extents;
  for (std::uint64_t at = layout.cuts[window]; at < layout.cuts[window + 1];) {
    const Segment& segment = layout.segments[layout.segment_at(at)];
    const std::uint64_t end = std::min(layout.cuts[window + 1], segment.packed_end());
    extents.push_back({segment.file + (at - segment.packed), end - at});
    at = end;
  }
  return extents;
}

/// Bytes that each node has in a window.
std::map<int, std::uint64_t> shares_of(const std::vector<RankPlan>& plans, const NodeMap& nodes, std::uint32_t window) {
  std::map<int, std::uint64_t> shares;
  for (std::size_t rank = 0; rank < plans.size(); ++rank)
    if (const Edge* edge = plans[rank].route.find(window)) shares[nodes.node_of[rank]] += edge->bytes;
  return shares;
}

/// A buffer is stored when all of it has come, or handed out when all of it is loaded, and then used again.
void schedule_aggregated(BoxSchedule& schedule, const std::vector<RankPlan>& plans, const NodeMap& nodes) {
  const Layout& layout = plans.front().layout;
  const bool write = layout.direction == Direction::write;
  for (const Domain& domain : layout.domains) {
    const int aggregator = nodes.node_of[static_cast<std::size_t>(domain.aggregator)];
    std::map<int, int> last_of_node;
    std::vector<std::vector<int>> emptied;  // by window: when its buffer is free again
    for (std::uint32_t w = 0; w < domain.windows; ++w) {
      const std::uint32_t window = domain.first_window + w;
      const std::uint32_t buffers = layout.placement.buffers;
      const std::vector<int> free = w < buffers ? std::vector<int>{} : emptied[w - buffers];
      std::vector<int> exchanged, stored;
      const auto store = [&](const std::vector<int>& after) {
        for (const Extent& extent : extents_of(layout, window))
          schedule.store(aggregator, extent, layout.direction, after, stored);
      };
      if (!write) store(free);
      for (const auto& [node, bytes] : shares_of(plans, nodes, window)) {
        std::vector<int> after = write ? free : stored;
        if (const auto last = last_of_node.find(node); last != last_of_node.end()) after.push_back(last->second);
        const int from = write ? node : aggregator, to = write ? aggregator : node;
        exchanged.push_back(schedule.move(from, to, bytes, std::move(after)));
        last_of_node[node] = exchanged.back();
      }
      if (write) store(exchanged);
      emptied.push_back(write ? stored : exchanged);
    }
  }
}

}  // namespace

BoxOutcome simulate_in_box(const BoxJob& job) {
  const box::Cluster cluster = box::Cluster::make(job.shape);
  const NodeMap nodes = ranks_in_box(job.ranks, static_cast<int>(cluster.names(box::Role::compute).size()));
  const MachineRule rule{job.machine};
  PlanRequest request;
  request.direction = job.direction;
  request.nodes = &nodes;
  request.limits = job.limits;
  request.storage = job.storage;
  request.model = &rule;
  request.machine = &job.machine;
  request.rules = job.rules;
  const bench::Workload workload = bench::make_workload(job.workload, job.parameters, job.ranks).value();
  std::vector<RankDeclaration> declarations;
  for (int rank = 0; rank < job.ranks; ++rank)
    declarations.push_back(RankDeclaration::of(bench::declaration(workload.part(rank))).value());
  const std::vector<RankPlan> plans = plan_all(std::move(declarations), request);
  const Layout& layout = plans.front().layout;
  BoxSchedule schedule{job, cluster};
  if (layout.placement.mode == Mode::direct) schedule_direct(schedule, plans, nodes);
  else schedule_aggregated(schedule, plans, nodes);
  return {layout.hash, layout.placement.mode, static_cast<int>(layout.domains.size()),
          simulate(schedule.schedule()).end_s};
}

}  // namespace weir::sim

#include "planned_job.hpp"

#include <algorithm>

#include "model/machine_rule.hpp"

namespace weir::sim {

std::vector<RankDeclaration> Job::declarations(const FileGroups& files) const {
  const int ranks_a_file = nodes_a_file > 0 ? nodes_a_file * ranks_per_node : ranks();
  const bench::Workload made = bench::make_workload(workload, parameters, ranks_a_file).value();
  std::vector<RankDeclaration> all;
  for (int rank = 0; rank < ranks(); ++rank) {
    auto own = RankDeclaration::of(bench::declaration(made.part(rank % ranks_a_file))).value();
    if (!files.shared())
      own = own.moved(files.base(static_cast<std::uint32_t>(files.group_of[static_cast<std::size_t>(rank)]))).value();
    all.push_back(std::move(own));
  }
  return all;
}

WindowShares WindowShares::of(const std::vector<RankDeclaration>& declarations, const Layout& layout,
                              const NodeMap& nodes) {
  WindowShares shares;
  shares.windows.resize(layout.windows());
  for (const auto& ranks : nodes.ranks_on)
    for (const int rank : ranks) {
      const int node = nodes.node_of[static_cast<std::size_t>(rank)];
      for (const Edge& edge : Route::of(declarations[static_cast<std::size_t>(rank)], layout).edges) {
        auto& window = shares.windows[edge.window];
        if (window.empty() || window.back().node != node) window.push_back({node, 0});
        window.back().bytes += edge.bytes;
      }
    }
  return shares;
}

Place PlannedJob::place(const Domain& domain) const {
  const auto index = static_cast<std::size_t>(&domain - layout.domains.data());
  const auto& banks = layout.placement.banks;
  return {nodes.node_of[static_cast<std::size_t>(domain.aggregator)],
          index < banks.size() ? static_cast<int>(banks[index]) : 0};
}

std::uint64_t PlannedJob::window_bytes(std::size_t window) const {
  std::uint64_t sum = 0;
  for (const auto& share : shares.windows[window]) sum += share.bytes;
  return sum;
}

PlannedJob plan_job(const Job& job, const PlanLimits& limits, const ElectionRules& rules) {
  PlannedJob planned;
  planned.machine = job.machine;
  planned.nodes = NodeMap::blocks(job.ranks(), job.ranks_per_node);
  const MachineRule rule{*job.machine};
  PlanRequest request;
  request.nodes = &planned.nodes;
  request.limits = limits;
  request.limits.mode = PlanLimits::Prefer::aggregate;
  request.storage.file_system = job.machine->storage.kind;
  request.storage.local = false;
  const FileSystem& storage = job.machine->storage;
  if (storage.stripe.known()) request.storage.stripe = static_cast<std::uint64_t>(storage.stripe.value);
  // A partition is planned like a file of its own, and its aggregator elected all the same.
  if (const int divided = std::max(job.nodes_a_file, job.nodes_a_partition); divided > 0)
    request.files = FileGroups::of("nodes:" + std::to_string(divided), planned.nodes);
  request.model = &rule;
  request.machine = job.machine;
  request.rules = rules;
  const std::vector<RankDeclaration> declarations = job.declarations(request.files);
  std::vector<Footprint> footprints;
  std::vector<std::uint64_t> hashes;
  for (const RankDeclaration& declaration : declarations) {
    footprints.push_back(Footprint::of(declaration, footprint_limit(job.ranks()), request.files));
    hashes.push_back(declaration.hash());
  }
  planned.layout = plan_layout(footprints, hashes, request).value();
  if (job.nodes_a_partition > 0)
    elect_aggregators(planned.layout, footprints, planned.nodes, *job.machine, rules).value();
  planned.shares = WindowShares::of(declarations, planned.layout, planned.nodes);
  return planned;
}

void schedule_plan(Schedule& schedule, const PlannedJob& job, const Software& software) {
  const auto buffers = job.layout.placement.buffers;
  for (const Domain& domain : job.layout.domains) {
    const Place place = job.place(domain);
    const int store_way = schedule.store_way(place, software.on_every_store);
    std::map<int, int> last_of_node;
    std::vector<int> stores;
    for (std::uint32_t k = 0; k < domain.windows; ++k) {
      std::vector<int> gathered;
      for (const auto& [node, bytes] : job.shares.windows[domain.first_window + k]) {
        std::vector<int> after;
        if (const auto last = last_of_node.find(node); last != last_of_node.end()) after.push_back(last->second);
        if (k >= buffers) after.push_back(stores[k - buffers]);
        gathered.push_back(schedule.transfer(schedule.gather_way(node, place), bytes, std::move(after)));
        last_of_node[node] = gathered.back();
      }
      stores.push_back(schedule.transfer(store_way, job.window_bytes(domain.first_window + k), std::move(gathered),
                                         software.round_s));
    }
  }
}

}  // namespace weir::sim

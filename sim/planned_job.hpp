#pragma once

#include "plan/plan.hpp"
#include "schedule.hpp"
#include "workload.hpp"

namespace weir::sim {

/// A job on the first nodes of a machine.
struct Job {
  const Machine* machine = nullptr;
  int nodes = 1;
  int ranks_per_node = 1;
  std::string workload;
  bench::Parameters parameters;
  int nodes_a_file = 0;       ///< 0: one file for all
  int nodes_a_partition = 0;  ///< so many nodes have an aggregator of their own, as in TAPIOCA; 0: any nodes share any

  [[nodiscard]] int ranks() const noexcept { return nodes * ranks_per_node; }
  /// By rank. With several files, offsets are those of `FileGroups`.
  [[nodiscard]] std::vector<RankDeclaration> declarations(const FileGroups& files) const;
};

/// Bytes that the ranks of each node have in each window of a plan.
struct WindowShares {
  struct Share {
    int node;
    std::uint64_t bytes;
  };
  std::vector<std::vector<Share>> windows;  ///< by window, then by node, ascending

  static WindowShares of(const std::vector<RankDeclaration>& declarations, const Layout& layout, const NodeMap& nodes);
};

/// A job as Weir plans it.
struct PlannedJob {
  const Machine* machine = nullptr;
  NodeMap nodes;
  Layout layout;
  WindowShares shares;

  [[nodiscard]] Place place(const Domain& domain) const;
  [[nodiscard]] std::uint64_t window_bytes(std::size_t window) const;
};

PlannedJob plan_job(const Job& job, const PlanLimits& limits, const ElectionRules& rules);

/// What carrying out a plan costs besides bytes on links.
struct Software {
  double round_s = 0;               ///< of an aggregator for each buffer that it stores
  std::vector<int> on_every_store;  ///< resources that all stores pass on top of the machine's
};

/// Node to aggregator to storage, one buffer after another. A node sends its parts of a domain in their order; a buffer
/// is filled again when what was in it is stored; a buffer is stored when all of it has come.
void schedule_plan(Schedule& schedule, const PlannedJob& job, const Software& software = {});

}  // namespace weir::sim

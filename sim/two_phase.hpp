#pragma once

#include "planned_job.hpp"

namespace weir::sim {

/// Collective calls as ROMIO carries them out: every variable a call of its own, planned when it comes; each aggregator
/// has an equal part of the range that the call spans; all of them go through it in step, one buffer a round.
struct TwoPhase {
  std::vector<int> aggregator_nodes;  ///< in the order of their parts of the file
  std::uint64_t buffer_bytes = 16 << 20;
  std::uint64_t alignment = 1;  ///< of the parts
  /// What each process spends on each other one when all exchange offsets (once a call) and sizes (once a round).
  double peer_s = 0;
  bool reads_holes = true;  ///< a buffer with holes is read before it is written; otherwise every piece is a call
  double piece_s = 0;       ///< of such a call

  /// The first rank of each of so many nodes, spread over the job, or else of the first ones.
  static std::vector<int> first_ranks(int aggregators, int nodes, bool spread);
};

void schedule_two_phase(Schedule& schedule, const Job& job, const TwoPhase& scheme);

}  // namespace weir::sim

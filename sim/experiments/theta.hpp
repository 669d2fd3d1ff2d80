#pragma once

#include "experiment.hpp"
#include "machine/stored.hpp"
#include "timing.hpp"

namespace weir::sim {

/// What all experiments on Theta assume.
inline std::vector<Assumption> theta_assumptions() {
  return {{"bandwidth of Lustre", 200, "GB/s", "assumed as in the stored machine", {}},
          {"gateway of a group", 18, "GB/s", "assumed as in the stored machine", {}},
          {"latency of Lustre", 1, "ms", "assumed as in the stored machine", {}}};
}

inline Machine theta_machine(const Assumptions& assumed) {
  Machine machine = stored_machine("theta").value();
  machine.storage.read.value = machine.storage.write.value = assumed["bandwidth of Lustre"] * 1e9;
  machine.storage.latency.value = assumed["latency of Lustre"] * 1e-3;
  machine.io.gateway_bandwidth.value = assumed["gateway of a group"] * 1e9;
  return machine;
}

/// What a comparison with MPI-IO assumes on top.
inline std::vector<Assumption> mpiio_assumptions() {
  std::vector<Assumption> all = theta_assumptions();
  all.push_back({"a peer in an all-to-all", 1, "us", "assumed: what a process spends on each other one", {}});
  all.push_back({"MPI-IO spreads its aggregators", 1, "", "assumed, in its favour; 0: it takes the first nodes", {0}});
  all.push_back({"MPI-IO reads holes first", 1, "", "ROMIO's default; 0: every piece is a call", {0}});
  all.push_back({"a call to Lustre", 1, "ms", "assumed: for each piece where holes are not read", {}});
  all.push_back({"software of a round", 1, "ms", "assumed, for Weir", {}});
  return all;
}

// MA-TAPIOCA: 48 aggregators for both, as many as OSTs; ROMIO's usual buffers.
constexpr int theta_aggregators = 48;
constexpr double theta_buffer_bytes = 16e6;

inline TwoPhase mpiio_on_theta(const Assumptions& assumed, const Machine& machine, int nodes) {
  TwoPhase scheme;
  scheme.aggregator_nodes =
      TwoPhase::first_ranks(theta_aggregators, nodes, assumed["MPI-IO spreads its aggregators"] > 0);
  scheme.alignment = static_cast<std::uint64_t>(machine.storage.stripe.value);
  scheme.peer_s = assumed["a peer in an all-to-all"] * 1e-6;
  scheme.reads_holes = assumed["MPI-IO reads holes first"] > 0;
  scheme.piece_s = assumed["a call to Lustre"] * 1e-3;
  return scheme;
}

inline Software weir_on_theta(const Assumptions& assumed) { return {assumed["software of a round"] * 1e-3, {}}; }

}  // namespace weir::sim

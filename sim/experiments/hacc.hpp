#pragma once

#include <fmt/format.h>

#include "timing.hpp"

namespace weir::sim {

constexpr double hacc_particle_bytes = 38;

/// HACC-IO on the first nodes of a machine, 16 ranks each.
inline Job hacc_job(const Machine& machine, int nodes, const std::string& layout, int particles, int nodes_a_file = 0) {
  return {.machine = &machine,
          .nodes = nodes,
          .ranks_per_node = 16,
          .workload = "hacc",
          .parameters = {{"layout", layout}, {"particles", std::to_string(particles)}},
          .nodes_a_file = nodes_a_file};
}

inline double hacc_bytes(const Job& job, int particles) { return hacc_particle_bytes * particles * job.ranks(); }

}  // namespace weir::sim

#include "model/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"

namespace weir {

namespace {

constexpr std::uint64_t direct_piece_write = 1 << 20;
constexpr std::uint64_t direct_piece_read = 16 << 10;
// On a local file system one writer holds the file's lock at a time and small buffers stay in the cache.
constexpr std::uint64_t local_buffer = 1 << 20;
constexpr std::uint64_t remote_buffer = 4 << 20;
constexpr std::uint64_t bytes_per_aggregator = 1 << 20;
constexpr std::uint32_t remote_aggregators_per_node = 2;
constexpr std::uint64_t relay_memory = 4 << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

bool direct_pays(const Demand& demand, std::string& why) {
  const std::uint64_t piece = demand.pieces == 0 ? 0 : demand.bytes / demand.pieces;
  const std::uint64_t least = demand.direction == Direction::write ? direct_piece_write : direct_piece_read;
  if (!demand.storage.shared) return why = "one process must hold all of this storage", false;
  if (demand.nodes->ranks() == 1) return why = "one rank alone has nobody to aggregate with", true;
  if (!demand.storage.local) {
    why = fmt::format("{} is not local: few large writers", demand.storage.file_system);
    return false;
  }
  why = fmt::format("pieces of {} on average, {} {} from which each rank alone is as fast on {}", format_bytes(piece),
                    piece >= least ? "at or above the" : "below the", format_bytes(least), demand.storage.file_system);
  return piece >= least;
}

}  // namespace

PlanLimits PlanLimits::of(const ResolvedSettings& settings) {
  PlanLimits limits;
  limits.memory = settings.number("plan.memory");
  limits.buffer_size = settings.number("plan.buffer_size");
  limits.buffers = static_cast<std::uint32_t>(settings.number("plan.buffers"));
  limits.aggregators = static_cast<std::uint32_t>(settings.number("plan.aggregators"));
  limits.alignment = settings.number("plan.alignment");
  limits.chunk = settings.number("exchange.chunk");
  const std::string& mode = settings.text("plan.mode");
  limits.mode = mode == "direct" ? Prefer::direct : mode == "aggregate" ? Prefer::aggregate : Prefer::any;
  return limits;
}

Placement SimpleRule::place(const Demand& demand, const PlanLimits& limits) const {
  Placement placement;
  const NodeMap& nodes = *demand.nodes;
  placement.alignment = limits.alignment        ? limits.alignment
                        : demand.storage.stripe ? demand.storage.stripe
                                                : std::max<std::uint64_t>(1, demand.storage.block);
  std::string why_mode;
  const bool pays = direct_pays(demand, why_mode);
  const bool direct = demand.storage.shared &&
                      (limits.mode == PlanLimits::Prefer::direct || (limits.mode == PlanLimits::Prefer::any && pays));
  if (limits.mode != PlanLimits::Prefer::any) why_mode = "plan.mode asks for it";
  placement.mode = direct ? Mode::direct : Mode::aggregate;
  if (direct) {
    placement.buffers = 0;
    placement.why = fmt::format("direct: {}", why_mode);
    return placement;
  }

  std::uint64_t wanted = limits.aggregators;
  if (wanted == 0)
    wanted = std::clamp<std::uint64_t>(
        demand.bytes / bytes_per_aggregator, static_cast<std::uint64_t>(nodes.nodes()),
        (demand.storage.local ? 1 : remote_aggregators_per_node) * static_cast<std::uint64_t>(nodes.nodes()));
  if (!demand.storage.shared) wanted = 1;
  wanted = std::clamp<std::uint64_t>(wanted, 1, static_cast<std::uint64_t>(nodes.ranks()));

  std::uint64_t memory = limits.memory;
  if (nodes.nodes() > 1) {
    std::size_t smallest = nodes.ranks_on[0].size();
    for (const auto& ranks : nodes.ranks_on) smallest = std::min(smallest, ranks.size());
    const std::uint64_t relayed = (wanted + smallest - 1) / smallest;
    const std::uint64_t landings = Placement::landings(nodes.nodes());
    // At most half of plan.memory is for what arrives from other nodes.
    const std::uint64_t most = std::max<std::uint64_t>(64, memory / 2 / landings / 64 * 64) - chunk_trailer;
    placement.chunk = std::min(
        most, std::clamp<std::uint64_t>(relay_memory / (Placement::relay_buffers * relayed), 4096, limits.chunk));
    memory -= std::min(memory, landings * placement.landing_bytes());
  }

  placement.buffers = limits.buffers;
  std::uint64_t size = limits.buffer_size ? limits.buffer_size : demand.storage.local ? local_buffer : remote_buffer;
  size = std::min(size, std::max<std::uint64_t>(1, round_up(demand.bytes / wanted + 1, placement.alignment)));
  const std::uint64_t most = std::max<std::uint64_t>(64, memory / placement.buffers / 64 * 64);
  std::string cut;
  if (size > most) {
    size = most;
    cut = ", cut to plan.memory";
  }
  placement.buffer_size = size;

  std::vector<std::size_t> taken(nodes.ranks_on.size(), 0);
  for (std::uint64_t d = 0; d < wanted; ++d) {
    auto node = static_cast<std::size_t>(d * nodes.ranks_on.size() / wanted);
    while (taken[node] == nodes.ranks_on[node].size()) node = (node + 1) % nodes.ranks_on.size();
    ++taken[node];
  }
  for (std::size_t node = 0; node < taken.size(); ++node)
    for (std::size_t k = 0; k < taken[node]; ++k)
      placement.aggregators.push_back(nodes.ranks_on[node][k * nodes.ranks_on[node].size() / taken[node]]);

  placement.why =
      fmt::format("aggregate: {}; {} aggregator{} ({}), {} buffer{} of {}{}", why_mode, wanted, wanted == 1 ? "" : "s",
                  limits.aggregators     ? "plan.aggregators"
                  : demand.storage.local ? "one a node on local storage"
                                         : "up to two a node",
                  placement.buffers, placement.buffers == 1 ? "" : "s", format_bytes(size), cut);
  return placement;
}

}  // namespace weir

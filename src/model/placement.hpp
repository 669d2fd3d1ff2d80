#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/settings.hpp"
#include "machine/node_map.hpp"
#include "machine/storage_traits.hpp"

namespace weir {

enum class Direction : std::uint8_t { write, read };
enum class Mode : std::uint8_t { direct, aggregate };

/// What is to be moved, as a model sees it.
struct Demand {
  Direction direction = Direction::write;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;
  std::uint64_t busiest_rank_bytes = 0;
  std::uint64_t busiest_rank_pieces = 0;
  const NodeMap* nodes = nullptr;
  StorageTraits storage;
};

/// What the user fixed; 0 and `any` leave it to the model.
struct PlanLimits {
  std::uint64_t memory = std::uint64_t{64} << 20;  ///< of one aggregator's buffers, hard
  std::uint64_t buffer_size = 0;
  std::uint32_t buffers = 2;
  std::uint32_t aggregators = 0;
  std::uint64_t alignment = 0;
  std::uint64_t chunk = std::uint64_t{1} << 20;
  enum class Prefer : std::uint8_t { any, direct, aggregate } mode = Prefer::any;
  enum class Remote : std::uint8_t { no, may, must } remote = Remote::no;  ///< go through memory servers

  static PlanLimits of(const ResolvedSettings& settings);
};

/// Behind a chunk between nodes: whether it may be used.
using ChunkTrailer = std::uint64_t;
inline constexpr std::uint64_t chunk_trailer = sizeof(ChunkTrailer);

/// Buffers take whole lines of the cache.
constexpr std::uint64_t in_lines(std::uint64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

/// How it shall be moved.
struct Placement {
  static constexpr std::uint32_t relay_buffers = 2;
  /// Places of an aggregator for messages of other nodes.
  static constexpr std::uint32_t most_landings = 4;
  static std::uint32_t landings(int nodes) noexcept {
    return std::min(most_landings, static_cast<std::uint32_t>(nodes - 1));
  }
  /// What a plan needs at least of plan.memory.
  static std::uint64_t least_memory(std::uint32_t buffers, int nodes) noexcept {
    return 64 * (std::uint64_t{buffers} + 2 * std::uint64_t{landings(nodes)});
  }

  Mode mode = Mode::aggregate;
  std::vector<int> aggregators;  ///< one a domain, each rank at most once
  std::uint64_t buffer_size = 0;
  std::uint32_t buffers = 2;
  std::uint64_t alignment = 1;
  std::uint64_t chunk = 0;  ///< bytes of one message between nodes; 0 on one node
  bool remote = false;  ///< in three phases through memory servers
  std::string why;      ///< for people: what decided
  std::string details;  ///< of the election of aggregators, where there was one
  std::vector<std::uint32_t> banks;  ///< of the machine, for each domain's buffers, where aggregators were elected
  double predicted_s = 0;

  [[nodiscard]] std::uint64_t landing_bytes() const noexcept { return in_lines(chunk + chunk_trailer); }
  /// What an aggregator takes of plan.memory.
  [[nodiscard]] std::uint64_t aggregator_bytes(int nodes) const noexcept {
    return buffers * in_lines(buffer_size) + landings(nodes) * landing_bytes();
  }
};

/// Chooses where and how to aggregate. Every rank that asks with the same demand gets the same answer.
class PlacementModel {
 public:
  virtual ~PlacementModel() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Placement place(const Demand& demand, const PlanLimits& limits) const = 0;
};

/// A rule of thumb: direct where pieces are long and storage is local, otherwise an aggregator for each few megabytes,
/// spread evenly over the nodes.
class SimpleRule : public PlacementModel {
 public:
  [[nodiscard]] std::string name() const override { return "simple rule"; }
  [[nodiscard]] Placement place(const Demand& demand, const PlanLimits& limits) const override;
};

}  // namespace weir

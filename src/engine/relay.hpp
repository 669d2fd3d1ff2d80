#pragma once

#include <array>
#include <span>

#include "engine/contributor.hpp"
#include "engine/pass.hpp"

namespace weir {

/// Carries the data of one domain between the ranks of this node and an aggregator on another, chunk after chunk.
class Relay {
 public:
  /// Allocates all that it needs.
  Relay(Pass& pass, const RelayPart& part);
  /// The buffers that it uses.
  void attach(const Arena& arena) noexcept {
    channel_ = arena.relay_channel(pass_.layout(), pass_.team.rank(), part_.domain);
  }

  void reset() noexcept;
  bool progress() noexcept;
  [[nodiscard]] bool done() const noexcept { return retired_ == items_; }
  [[nodiscard]] bool polls() const noexcept { return started_ > moved_; }
  void clear() noexcept;

 private:
  struct Chunk {
    std::size_t edge;  // among those of the domain
    std::uint64_t size;
  };
  [[nodiscard]] Chunk chunk(std::uint64_t item) const noexcept;
  bool progress_write() noexcept;
  bool progress_read() noexcept;
  void start(std::uint64_t item) noexcept;

  Pass& pass_;
  const RelayPart& part_;
  Channel channel_;
  std::span<const Edge> edges_;            // of the node's route in this domain
  std::vector<std::uint64_t> first_item_;  // of each, and the end
  std::uint64_t items_ = 0;
  std::uint64_t started_ = 0;  // messages
  std::uint64_t moved_ = 0;
  std::uint64_t retired_ = 0;  // items whose buffer is free again
  std::array<Parcel, Placement::relay_buffers> parcels_;
};

}  // namespace weir

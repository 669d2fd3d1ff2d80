#pragma once

#include <vector>

#include "engine/pass.hpp"

namespace weir {

/// Moves a rank's own data between its variables and the buffers of the plan.
class Contributor {
 public:
  /// Allocates all that it needs.
  explicit Contributor(Pass& pass);
  /// The buffers that it uses.
  void attach(const Arena& arena) noexcept;

  /// Everything from the start again.
  void reset() noexcept;
  /// Moves what can be moved now. `memory[v]` is null while variable v has not been given; after `give_up` it never will.
  /// `all_ready`: the ranks have agreed that every buffer is.
  bool progress(const std::vector<std::byte*>& memory, bool all_ready = false) noexcept;
  /// The rest is let through without data, marked as unusable.
  void give_up() noexcept { given_up_ = true; }
  [[nodiscard]] bool done() const noexcept { return open_lanes_ == 0; }

 private:
  /// The edges to one domain.
  struct Lane {
    const Domain* domain = nullptr;
    bool remote = false;
    Channel channel;
    std::uint32_t first_edge = 0, end_edge = 0;
    std::uint32_t edge = 0;
    // For domains of other nodes: the node's edges, counted in chunks.
    const Edge* node_edge = nullptr;
    std::uint64_t item = 0;
    std::uint64_t chunk = 0;
    std::vector<std::uint64_t> first_item;  // of each of our edges
  };

  bool step(Lane& lane, const std::vector<std::byte*>& memory) noexcept;
  void copy(const Edge& edge, const Transfer& transfer, std::byte* data, std::byte* buffer) const noexcept;
  bool local_edge(Lane& lane, const Edge& edge, const std::vector<std::byte*>& memory) noexcept;
  bool remote_chunk(Lane& lane, const Edge& edge, const std::vector<std::byte*>& memory) noexcept;
  void copy_chunk(const Lane& lane, const Edge& edge, const std::vector<std::byte*>& memory) noexcept;
  void arrive(const Lane& lane, std::uint64_t item) noexcept;

  Pass& pass_;
  std::vector<Lane> lanes_;
  std::vector<unsigned char> copied_;  // by transfer
  std::size_t open_lanes_ = 0;
  bool given_up_ = false;
  bool all_ready_ = false;
};

/// How many chunks the bytes of an edge between nodes need.
inline std::uint64_t chunks_of(const Edge& edge, std::uint64_t chunk) noexcept { return (edge.bytes + chunk - 1) / chunk; }

}  // namespace weir

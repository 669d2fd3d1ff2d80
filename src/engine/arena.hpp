#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/channel.hpp"
#include "engine/remote_dumps.hpp"
#include "exchange/team.hpp"
#include "memory/bank.hpp"
#include "plan/plan.hpp"

namespace weir {

/// Where the channels of a rank lie in its arena, for a given plan.
struct ArenaShape {
  std::uint64_t aggregator_bytes = 0;  ///< buffers of the domain
  std::uint64_t landing_bytes = 0;     ///< of one landing place for data of other nodes
  std::uint32_t landings = 0;
  std::uint32_t relays = 0;            ///< domains of other nodes
  std::uint64_t relay_chunk = 0;
  std::uint32_t buffers = 0;
  std::uint64_t buffer_size = 0;

  static ArenaShape of(const Layout& layout, const NodeMap& nodes, int rank) noexcept;
  [[nodiscard]] std::uint64_t data_bytes() const noexcept;   ///< of the buffers
  [[nodiscard]] std::uint64_t whole_bytes() const noexcept;  ///< with controls; 0 when it has no buffers
  /// What lies before the buffers: one control for each slot.
  static constexpr std::uint64_t control_bytes = 64 << 10;
  static constexpr std::uint32_t most_slots = control_bytes / sizeof(SlotControl);
};

/// The buffers of one open file on every rank, kept for the next file when it closes.
///
/// Channels of other ranks are found by their shape. All controls are zero when no step is under way.
class Arena {
 public:
  Arena(Team& team, int segment)
      : team_{&team}, segment_{segment}, bases_(static_cast<std::size_t>(team.local_size())) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Makes this rank's part large enough, in the first of these banks that has room, or in ordinary memory when none is
  /// named. Local; an agreement must follow before `connect`.
  Status reserve(const Layout& layout, std::span<MemoryBank* const> banks);
  /// The same for so many bytes of buffers.
  Status reserve(std::uint64_t buffer_bytes);
  /// Maps the parts of the other ranks of this node, after the agreement; `moved` on any rank.
  Status connect(const Layout& layout, bool moved) noexcept;
  /// Maps the part of the first rank of this node, and makes the pages of so many bytes of its buffers present.
  Status connect_first(std::uint64_t buffer_bytes);
  /// Whether this rank's part was allocated anew since the last `connect`.
  [[nodiscard]] bool moved() const noexcept { return moved_; }
  /// Whether the others must map this rank's part before they can use it.
  [[nodiscard]] bool outside() const noexcept { return team_->provided_outside(segment_); }
  /// The communicator, and for one-sided exchange the window, of messages between nodes; `moved` on any rank. Collective.
  void link(bool one_sided, bool moved);

  [[nodiscard]] Channel aggregator_channel(const Layout& layout, int rank) const noexcept;
  [[nodiscard]] Channel relay_channel(const Layout& layout, int rank, std::uint32_t domain) const noexcept;
  [[nodiscard]] std::byte* landing(const Layout& layout, std::uint32_t index) const noexcept;

  [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }
  [[nodiscard]] MPI_Win window() const noexcept { return window_; }
  [[nodiscard]] const std::byte* base() const noexcept { return bases_.empty() ? nullptr : bases_[team_->local_rank()]; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Whether this rank's part needs no more memory for a plan, and is where it should be.
  [[nodiscard]] bool large_enough(const Layout& layout, std::span<MemoryBank* const> banks) const noexcept;
  /// Where this rank's buffers are, and why not where they should be; empty in ordinary memory.
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  /// Where those of all ranks are, a line for each place; empty where all are in ordinary memory.
  [[nodiscard]] const std::string& where_all() const noexcept { return where_all_; }
  void tell_all(std::string lines) noexcept { where_all_ = std::move(lines); }

  /// Remote memory of its steps.
  [[nodiscard]] RemoteDumps& dumps() noexcept { return dumps_; }

  // --- who has it: the same on all ranks ---
  void take() noexcept { taken_ = true; }
  [[nodiscard]] bool taken() const noexcept { return taken_; }
  void give_back() noexcept;
  /// It is now fit for a plan, whose aggregators use so much of plan.memory.
  void bind(std::uint64_t plan_serial, std::uint64_t buffer_bytes) noexcept;
  [[nodiscard]] bool fits(std::uint64_t plan_serial) const noexcept {
    return plan_serial != 0 && std::find(fitting_.begin(), fitting_.end(), plan_serial) != fitting_.end();
  }
  /// Whether some step may hold pointers into it.
  [[nodiscard]] bool bound() const noexcept { return bound_; }
  [[nodiscard]] std::uint64_t planned_buffers() const noexcept { return planned_buffers_; }

 private:
  Status reserve_in_bank(std::uint64_t bytes, std::span<MemoryBank* const> banks);

  Team* team_;
  int segment_;
  std::uint64_t size_ = 0;
  const MemoryBank* wanted_bank_ = nullptr;
  std::string where_, where_all_;
  bool moved_ = false;
  bool taken_ = false;
  bool bound_ = false;
  std::uint64_t planned_buffers_ = 0;
  std::vector<std::byte*> bases_;  // by local rank
  std::array<std::uint64_t, 8> fitting_{};  // serials of the last plans for which it is large enough
  std::size_t fitted_ = 0;
  RemoteDumps dumps_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace weir

#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/aggregator.hpp"
#include "engine/pass.hpp"
#include "engine/remote_dumps.hpp"

namespace weir {

/// Moves a step through remote memory: each rank between its variables and its own dump, aggregators between all dumps
/// and their windows, and a meeting of all ranks in the middle. Whoever calls it keeps these meetings.
class ThreePhase final : public WindowCarrier {
 public:
  /// Allocates all that it needs here.
  ThreePhase(Pass& pass, RemoteBank& bank);
  ~ThreePhase() override;
  void attach(std::shared_ptr<RemoteDump> dump) noexcept { dump_ = std::move(dump); }

  void reset() noexcept;
  /// Whether all ranks know that all have their dumps.
  [[nodiscard]] bool prepared() const noexcept { return dump_ && dump_->prepared; }
  /// Whether what it has in remote memory is from before a loss.
  [[nodiscard]] bool is_stale() const noexcept { return dump_ && dump_->losses != bank_.losses; }
  void set_prepared() noexcept { dump_->prepared = true; }
  /// Has this rank's own dump; false when that is lost, or the servers have no room yet.
  bool prepare_own() noexcept;
  [[nodiscard]] bool awaits_room() const noexcept { return awaits_room_; }
  /// Moves this rank's own bytes of the round; true when something moved.
  bool move_own(const std::vector<std::byte*>& memory) noexcept;
  [[nodiscard]] bool own_done() const noexcept;
  /// Whether the aggregator of this rank has carried all windows of the round.
  [[nodiscard]] bool carried_all() const noexcept;
  bool carry(std::uint64_t window, std::byte* buffer) noexcept override;
  /// Where the servers' memory is mapped and its pieces are long enough: the dumps themselves.
  std::span<iovec> parts(std::uint64_t window) noexcept override;
  /// Notices whether the dumps were still lent.
  void stored() noexcept override {
    if (!lost()) lose(failure());
  }
  /// From now on until `reset` the windows are carried by another thread than the one that moves own bytes, perhaps of
  /// another step.
  void carry_in_background() noexcept;
  [[nodiscard]] bool in_rounds() const noexcept { return bank_.synchronous; }
  [[nodiscard]] bool over_network() const noexcept { return !servers().is_mapped(); }

  /// Windows of this pass that needed no buffer.
  [[nodiscard]] std::uint64_t in_place() const noexcept { return in_place_; }
  [[nodiscard]] bool lost() const noexcept override { return !loss_.ok(); }
  /// Why it cannot go on.
  [[nodiscard]] const Status& loss() const noexcept { return loss_; }
  /// Begins the next round; false when there is none.
  bool next_round() noexcept;
  /// Whether transfers are under way that only polling moves.
  [[nodiscard]] bool polls() const noexcept { return parcels_ > 0 || pieces_under_way_ || awaits_room_; }

 private:
  static constexpr std::uint64_t chunk = 256 << 10;
  static constexpr std::size_t most_parcels = 8;
  static constexpr std::size_t most_pieces = 64;  // under way between their own places, about
  struct Parcel {
    const Inbox* inbox;
    const Edge* edge;
    Range part;
  };

  [[nodiscard]] bool writes() const noexcept { return pass_.layout().direction == Direction::write; }
  [[nodiscard]] std::uint32_t round_of(std::uint32_t window) const noexcept;
  [[nodiscard]] std::uint32_t windows_of_round() const noexcept;
  /// Of what is being moved.
  [[nodiscard]] RemoteMemory& servers() const noexcept {
    return in_background_ ? *dump_->background.connection : *bank_.memory;
  }
  Status failure() const noexcept;
  RemoteRegion* source_region(std::size_t source) noexcept;
  void lose(const Status& why) noexcept {
    if (loss_.ok()) loss_ = why;
  }
  void copy_own(const Edge& edge, Range part, const std::vector<std::byte*>& memory, std::byte* packed) noexcept;
  /// Has all parcels under way arrived? Then `empty(parcel, landing)` has been called for each, and there is none.
  template <class Empty>
  bool settle(Empty&& empty) noexcept;
  /// The same for parcels of this rank's own dump, and of a window.
  bool settle_own(const std::vector<std::byte*>& memory) noexcept;
  bool settle_window(std::byte* buffer) noexcept;
  [[nodiscard]] std::byte* landing(std::size_t parcel) noexcept { return landings_.data() + parcel * chunk; }
  /// Whether to ask again later for room that the servers did not have.
  bool may_ask_again(std::uint64_t bytes) noexcept;
  bool need_landings() noexcept;
  bool send_own(const Edge& edge, const std::vector<std::byte*>& memory) noexcept;
  bool receive_own(const Edge& edge, const std::vector<std::byte*>& memory) noexcept;
  /// Piece by piece; in rounds each is waited for, as in the document's synchronous version.
  void move_pieces(const Edge& edge, const std::vector<std::byte*>& memory) noexcept;
  Status find_parts(std::uint64_t window, std::vector<iovec>& parts);
  bool carry_buffer(std::uint64_t window, std::byte* buffer) noexcept;
  /// Whether so many pieces are under way that others have to wait; sleeps then.
  [[nodiscard]] bool is_crowded() noexcept {
    if (!pieces_under_way_ || servers().under_way() <= most_pieces || servers().progress() <= most_pieces) return false;
    servers().doze();
    return true;
  }
  void carry_pieces(const Source& source, RemoteRegion& region, const Edge& edge, std::byte* buffer) noexcept;
  bool carry_source(const Source& source, RemoteRegion& region, const Edge& edge, std::byte* buffer) noexcept;

  Pass& pass_;
  const RemotePart& part_;
  RemoteBank& bank_;
  std::shared_ptr<RemoteDump> dump_;
  std::uint64_t connection_ = 0;  // with which it began
  Status loss_;
  std::uint32_t rounds_ = 1, round_ = 0;
  std::vector<std::uint32_t> order_;  // own edges, round by round
  std::size_t next_ = 0;              // of them
  std::uint64_t at_ = 0;              // bytes of the edge, or of the source, that are under way or have arrived
  std::vector<std::byte> landings_;
  std::array<Parcel, most_parcels> under_way_;
  std::size_t parcels_ = 0;
  bool pieces_under_way_ = false;               // between their own places
  std::uint64_t carrying_ = ~std::uint64_t{0};  // window
  std::size_t source_ = 0;
  std::uint64_t carried_ = 0;  // windows of this pass
  std::vector<std::vector<iovec>> parts_;  // by buffer
  struct PlacedPiece {
    std::uint64_t offset, length;
    std::byte* memory;
  };
  std::vector<PlacedPiece> pieces_;          // of a window, while its parts are found
  std::uint64_t own_piece_ = 0, piece_ = 0;  // bytes of one in the mean: of own data, and of what is collected
  std::uint64_t in_place_ = 0;
  bool awaits_room_ = false;
  Deadline room_by_ = Deadline::never();
  bool flushed_ = false;
  bool in_background_ = false;
};

}  // namespace weir

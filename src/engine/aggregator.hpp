#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/contributor.hpp"
#include "engine/pass.hpp"

namespace weir {

/// Brings data to the buffers of an aggregator, or takes it from there, where the ranks do not do so themselves.
class WindowCarrier {
 public:
  virtual ~WindowCarrier() = default;
  /// Moves the data of a window, counted from the domain's first; true when all of it has moved, or never will. Without
  /// a buffer the window's `parts` are used.
  virtual bool carry(std::uint64_t window, std::byte* buffer) noexcept = 0;
  /// Memory that a window can be stored from, or loaded to, without a buffer: in the order of offsets in the file,
  /// until the window is asked for again. Nothing where there is none.
  virtual std::span<iovec> parts(std::uint64_t window) noexcept = 0;
  /// A window has been stored.
  virtual void stored() noexcept = 0;
  /// Whether it cannot go on.
  [[nodiscard]] virtual bool lost() const noexcept = 0;
};

/// Carries one domain between its buffers and the storage, and the parts of other nodes between messages and its buffers.
class Aggregator {
 public:
  /// Allocates all that it needs.
  explicit Aggregator(Pass& pass);
  /// The buffers that it uses.
  void attach(const Arena& arena) noexcept;

  /// Everything from the start again; with a carrier no rank comes to the buffers itself.
  void reset(WindowCarrier* carrier = nullptr) noexcept;
  bool progress() noexcept;
  [[nodiscard]] bool done() const noexcept { return open_slots_ == 0; }
  /// Whether all that it reads is in its buffers.
  [[nodiscard]] bool loaded() const noexcept;
  /// Keeps later passes from the buffers until `clear`.
  void serve() noexcept { channel_.control->served.store(1); }
  /// Transfers that only polling moves forward.
  [[nodiscard]] bool polls() const noexcept { return parcels_ > 0; }
  [[nodiscard]] bool storing() const noexcept { return ios_in_flight_ > 0; }
  /// Between passes: all controls as they were.
  void clear() noexcept;

 private:
  enum class Phase : std::uint8_t { filling, storing, loading, serving, finished };
  struct Slot {
    std::uint64_t window = 0;  // counted from the domain's first
    Phase phase = Phase::filling;
    std::uint32_t next_extent = 0;
    std::uint32_t ios = 0;
    std::uint32_t nodes_left = 0;
    std::uint32_t others_before = 0;
    std::uint64_t bytes = 0;
    std::optional<bool> in_place;   // without a buffer; not known yet
    std::span<iovec> parts;         // then: of what is not yet under way
    std::uint64_t extent_done = 0;  // bytes of the next extent that are
    double start = 0;
    bool bad = false;
  };
  struct Delivery {  // what one other node still has to give or get
    std::size_t edge = 0, end = 0;
    std::uint64_t chunk = 0;
    int landing = -1;
    Parcel parcel;
  };
  static constexpr std::size_t most_ios = 64;
  struct Transferred {
    Io io;
    Slot* slot = nullptr;
  };

  void announce_extents(Storage& storage) noexcept;
  void begin(Slot& slot, std::uint64_t window) noexcept;
  bool advance(Slot& slot) noexcept;
  bool move_extents(Slot& slot) noexcept;
  Io next_io(Slot& slot) noexcept;
  void choose_memory(Slot& slot) noexcept;
  bool carry(Slot& slot) noexcept {
    return carrier_->carry(slot.window, *slot.in_place ? nullptr : channel_.buffer(slot.window));
  }
  void collect() noexcept;
  void finish_storing(Slot& slot) noexcept;
  void finish_loading(Slot& slot) noexcept;
  void next_window(Slot& slot) noexcept;
  bool exchange() noexcept;
  bool start_delivery(std::size_t inbox) noexcept;
  void finish_delivery(std::size_t inbox) noexcept;
  void copy_chunk(const Inbox& inbox, const Edge& edge, std::uint64_t chunk, std::byte* landing, std::byte* buffer) noexcept;
  [[nodiscard]] bool all_here(const Slot& slot) const noexcept;
  [[nodiscard]] Slot* slot_of(std::uint64_t window) noexcept;
  [[nodiscard]] std::uint32_t arrivals_elsewhere(const Slot& slot) const noexcept;
  [[nodiscard]] std::uint64_t buffer_offset(std::uint64_t window, std::uint64_t file) const noexcept;

  Pass& pass_;
  const DomainPart& part_;
  const Domain& domain_;
  Channel channel_;
  WindowCarrier* carrier_ = nullptr;
  bool write_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> nodes_in_;  // other nodes that take part, by window
  std::vector<Delivery> deliveries_;     // by inbox
  std::vector<std::byte*> landings_;
  std::vector<unsigned char> landing_taken_;
  std::vector<Transferred> ios_{most_ios};  // not in place: steps are made often, aggregators are few
  std::size_t ios_in_flight_ = 0;
  std::size_t parcels_ = 0;
  std::size_t open_slots_ = 0;
  bool announced_ = false;  // to the storage, what is going to be written
};

}  // namespace weir

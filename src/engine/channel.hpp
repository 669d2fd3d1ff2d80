#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir {

/// The state of one buffer, in memory that all ranks of a node share. All zero between passes.
struct alignas(64) SlotControl {
  std::atomic<std::uint32_t> released;  ///< how often the owner has emptied it for the next item (writing)
  std::atomic<std::uint32_t> filled;    ///< how often the owner has filled it (reading)
  std::atomic<std::uint32_t> arrived;   ///< ranks that are through with the item in it
  std::atomic<std::uint32_t> awaited;   ///< arrivals at which the owner wants to be woken; 0 when it does not wait
  std::atomic<std::uint32_t> poisoned;  ///< what is in it must not be used
  std::atomic<std::uint32_t> served;    ///< of the first: ranks take the data of an agreed pass, later ones must wait

  void clear() noexcept {
    released = filled = arrived = awaited = poisoned = 0;
    served = 0;
  }
};

/// A row of buffers through which numbered items (windows, or chunks between nodes) pass: item k uses buffer k mod n.
struct Channel {
  SlotControl* control = nullptr;
  std::byte* buffers = nullptr;
  std::uint64_t buffer_size = 0;
  std::uint32_t count = 1;
  int owner = 0;  ///< local rank

  [[nodiscard]] SlotControl& slot(std::uint64_t item) const noexcept { return control[item % count]; }
  [[nodiscard]] std::byte* buffer(std::uint64_t item) const noexcept { return buffers + item % count * buffer_size; }
  [[nodiscard]] std::uint32_t lap(std::uint64_t item) const noexcept { return static_cast<std::uint32_t>(item / count); }

  /// Whether a rank may put its part of the item into the buffer.
  [[nodiscard]] bool open(std::uint64_t item) const noexcept {
    return control->served.load() == 0 && slot(item).released.load() == lap(item);
  }
  /// Whether a rank may take its part of the item out of the buffer.
  [[nodiscard]] bool ready(std::uint64_t item) const noexcept {
    return control->served.load() == 0 && slot(item).filled.load() == lap(item) + 1;
  }
  /// A rank is through with the item; true when the owner waits for just this.
  [[nodiscard]] bool arrive(std::uint64_t item) const noexcept {
    SlotControl& here = slot(item);
    return here.arrived.fetch_add(1) + 1 == here.awaited.load();
  }
  /// For the owner: whether all are through; asks to be woken when not.
  [[nodiscard]] bool all_arrived(std::uint64_t item, std::uint32_t expected) const noexcept {
    SlotControl& here = slot(item);
    if (here.arrived.load() == expected) return true;
    here.awaited.store(expected);
    return here.arrived.load() == expected;
  }
  /// For the owner: the buffer is empty for the item one lap later.
  void release(std::uint64_t item) const noexcept {
    SlotControl& here = slot(item);
    here.awaited.store(0);
    here.arrived.store(0);
    here.poisoned.store(0);
    here.released.fetch_add(1);
  }
};

}  // namespace weir

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <weir/status.hpp>

namespace weir {

/// Memory that other processes of the same user on this node can map. It has no name in any file system, so nothing is
/// left behind when a process dies, and it is reserved before use, so a lack of memory is an error and never a signal.
class SharedSegment {
 public:
  /// How another process finds it, for as long as the owner keeps it.
  struct Address {
    std::int32_t process = 0;
    std::int32_t descriptor = -1;
    std::uint64_t size = 0;
  };

  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept { swap(other); }
  SharedSegment& operator=(SharedSegment&& other) noexcept {
    SharedSegment{std::move(other)}.swap(*this);
    return *this;
  }
  ~SharedSegment();

  /// New memory, zero. The first `present` bytes are there; the rest is only room until it is committed.
  static Result<SharedSegment> create(std::uint64_t size, std::uint64_t present);
  /// The same in a file that is this large already and whose descriptor it takes over.
  static Result<SharedSegment> adopt(int descriptor, std::uint64_t size);
  /// Another process's segment.
  static Result<SharedSegment> map(const Address& address);

  /// New memory that has no room yet, and for the owner: so much.
  static Result<SharedSegment> create_empty();
  Status extend(std::uint64_t size);
  /// A segment that another process extends to this size: who joins can commit parts of it too.
  static Result<SharedSegment> join(const Address& address, std::uint64_t size);

  /// For the owner, and for who has joined: makes a part of the room present, or gives it back to the system.
  Status commit(std::uint64_t offset, std::uint64_t length);
  void decommit(std::uint64_t offset, std::uint64_t length) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return address_.size; }
  [[nodiscard]] const Address& address() const noexcept { return address_; }

 private:
  Status map_here(std::uint64_t size);
  void swap(SharedSegment& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(address_, other.address_);
    std::swap(descriptor_, other.descriptor_);
  }
  std::byte* data_ = nullptr;
  Address address_;
  int descriptor_ = -1;
};

/// Maps pages of shared memory now instead of when they are first used. What is not committed must not be in it.
void make_present(const std::byte* data, std::uint64_t size) noexcept;

}  // namespace weir

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "machine/machine.hpp"
#include "memory/shared_segment.hpp"

namespace weir {

/// What a bank is, for those who choose one.
struct BankAttributes {
  std::string name;
  std::string kind;            ///< as in `Bank`
  std::uint64_t capacity = 0;  ///< that this process may use; 0: as much as the system gives
  Persistency persistency = Persistency::none;
  Scope scope = Scope::node;
  bool emulated = false;       ///< ordinary memory stands in for what the machine does not have
  std::string reason;          ///< why it is emulated

  static BankAttributes of(const Bank& described);
};

/// Bytes in use of a bank. Kept by its allocations, which may outlive it.
struct BankAccount {
  std::atomic<std::uint64_t> used{0};
};

/// Memory of a bank, all of it reserved, zero at first; given back when this ends.
class Allocation {
 public:
  Allocation() = default;
  Allocation(SharedSegment segment, std::shared_ptr<BankAccount> account, std::uint64_t charged, bool synced) noexcept
      : segment_{std::move(segment)}, account_{std::move(account)}, charged_{charged}, synced_{synced} {}
  Allocation(Allocation&& other) noexcept = default;
  Allocation& operator=(Allocation&& other) noexcept {
    release();
    segment_ = std::move(other.segment_);
    account_ = std::move(other.account_);
    charged_ = other.charged_;
    synced_ = other.synced_;
    return *this;
  }
  ~Allocation() { release(); }

  [[nodiscard]] std::byte* data() const noexcept { return segment_.data(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return segment_.size(); }
  /// For `SharedSegment::map` in other processes of this user on this node.
  [[nodiscard]] const SharedSegment::Address& address() const noexcept { return segment_.address(); }
  /// Has what was written reach the device of a bank that has one.
  Status flush() const noexcept;

 private:
  void release() noexcept;

  SharedSegment segment_;
  std::shared_ptr<BankAccount> account_;
  std::uint64_t charged_ = 0;
  bool synced_ = false;
};

/// Memory that really holds buffers. Local; any thread may allocate. Its capacity is counted in this process: processes
/// that share a bank are each given a part of it.
class MemoryBank {
 public:
  virtual ~MemoryBank() = default;
  MemoryBank(const MemoryBank&) = delete;
  MemoryBank& operator=(const MemoryBank&) = delete;

  [[nodiscard]] const BankAttributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return account_->used; }

  /// Whole pages. Beyond the capacity, or what the system has, is `Code::no_memory`, or `Code::no_space` on storage.
  Result<Allocation> allocate(std::uint64_t bytes);

 protected:
  explicit MemoryBank(BankAttributes attributes)
      : attributes_{std::move(attributes)}, account_{std::make_shared<BankAccount>()} {}

  /// New memory that is there, so that using it never fails.
  virtual Result<SharedSegment> take(std::uint64_t bytes) = 0;
  /// Whether there is a device behind it.
  [[nodiscard]] virtual bool on_storage() const noexcept { return false; }

 private:
  bool charge(std::uint64_t bytes) noexcept;

  BankAttributes attributes_;
  std::shared_ptr<BankAccount> account_;
};

}  // namespace weir

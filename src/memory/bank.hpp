#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

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

/// Memory that no pointer leads to; given back when this ends.
class FarMemory {
 public:
  virtual ~FarMemory() = default;
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// `data` must stay until `flush` has returned.
  virtual Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept = 0;
  virtual Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept = 0;
  virtual Status flush() noexcept = 0;
};

/// What a bank gives.
using BankMemory = std::variant<SharedSegment, std::unique_ptr<FarMemory>>;

/// Memory of a bank, all of it reserved, zero at first; given back when this ends.
class Allocation {
 public:
  Allocation() = default;
  Allocation(BankMemory memory, std::shared_ptr<BankAccount> account, std::uint64_t charged, bool synced) noexcept
      : account_{std::move(account)}, charged_{charged}, synced_{synced} {
    if (auto* near = std::get_if<SharedSegment>(&memory)) segment_ = std::move(*near);
    else far_ = std::move(std::get<std::unique_ptr<FarMemory>>(memory));
  }
  Allocation(Allocation&& other) noexcept = default;
  Allocation& operator=(Allocation&& other) noexcept {
    release();
    segment_ = std::move(other.segment_);
    far_ = std::move(other.far_);
    account_ = std::move(other.account_);
    charged_ = other.charged_;
    synced_ = other.synced_;
    return *this;
  }
  ~Allocation() { release(); }

  /// Null where only `put` and `get` lead there.
  [[nodiscard]] std::byte* data() const noexcept { return segment_.data(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return far_ ? far_->size() : segment_.size(); }
  /// Outside it is `Code::invalid`. What is put must stay until `flush` has returned; what is got is there.
  Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) const noexcept;
  Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) const noexcept;
  /// For `SharedSegment::map` in other processes of this user on this node.
  [[nodiscard]] const SharedSegment::Address& address() const noexcept { return segment_.address(); }
  /// Has what was written reach the device, or the other node, of a bank that has one.
  Status flush() const noexcept;

 private:
  void release() noexcept;

  SharedSegment segment_;
  std::unique_ptr<FarMemory> far_;
  std::shared_ptr<BankAccount> account_;
  std::uint64_t charged_ = 0;
  bool synced_ = false;
};

/// Memory that really holds buffers. Local; any thread may allocate. Its capacity is counted in this process, unless
/// the processes of a node share an account.
class MemoryBank {
 public:
  virtual ~MemoryBank() = default;
  MemoryBank(const MemoryBank&) = delete;
  MemoryBank& operator=(const MemoryBank&) = delete;

  [[nodiscard]] const BankAttributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return account_->used; }

  /// Has what is in use counted in an account that processes of the node share, and that outlives all its memory.
  void share(BankAccount& account) noexcept { account_ = {std::shared_ptr<BankAccount>{}, &account}; }

  /// Whole pages. Beyond the capacity, or what the system has, is `Code::no_memory`, or `Code::no_space` on storage.
  Result<Allocation> allocate(std::uint64_t bytes);

 protected:
  explicit MemoryBank(BankAttributes attributes)
      : attributes_{std::move(attributes)}, account_{std::make_shared<BankAccount>()} {}

  /// New memory that is there, so that using it never fails.
  virtual Result<BankMemory> take(std::uint64_t bytes) = 0;
  /// Whether there is a device behind it.
  [[nodiscard]] virtual bool on_storage() const noexcept { return false; }

 private:
  bool charge(std::uint64_t bytes) noexcept;

  BankAttributes attributes_;
  std::shared_ptr<BankAccount> account_;
};

}  // namespace weir

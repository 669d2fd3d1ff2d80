#pragma once

#if WEIR_HAVE_URING

#include <liburing.h>

#include "storage/posix_storage.hpp"

namespace weir {

/// A file of the system whose transfers run beside the caller, through an io_uring of its own.
///
/// The ring is made by the first `submit`; when the kernel refuses it the file is plain from then on. At most `depth`
/// transfers are under way: a `submit` beyond that waits for one of them. `sync` and `close` wait for all.
class UringStorage final : public PosixStorage {
 public:
  static constexpr unsigned depth = 64;

  using PosixStorage::PosixStorage;
  ~UringStorage() override;

  void submit(Io& io) noexcept override;
  std::size_t poll() noexcept override;
  void wait() noexcept override;
  int sync() noexcept override;
  int close() noexcept override;

 private:
  enum class Ring { none, works, refused };

  void make_ring() noexcept;
  /// Queues the next raw call of `io`, unless `io` is finished without one.
  void advance(Io& io) noexcept;
  /// False when the kernel did not take it: the ring is then only read from.
  bool enqueue(Io& io, std::uint64_t length) noexcept;
  bool goes_on(Io& io, std::int64_t outcome) noexcept;
  /// Books a completion; true when it finished its transfer.
  bool complete(io_uring_cqe* entry) noexcept;
  void drain() noexcept;

  io_uring ring_{};
  Ring state_ = Ring::none;
  bool made_ = false;
  unsigned under_way_ = 0;
  unsigned stalls_ = 0;  // EAGAIN in a row
};

}  // namespace weir

#endif

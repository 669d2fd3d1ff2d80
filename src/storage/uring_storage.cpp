#include "storage/uring_storage.hpp"

#if WEIR_HAVE_URING

#include <cerrno>

namespace weir {
namespace {

constexpr unsigned most_stalls = 1000;

}  // namespace

UringStorage::~UringStorage() { UringStorage::close(); }

void UringStorage::make_ring() noexcept {
  made_ = io_uring_queue_init(depth, &ring_, 0) == 0;
  state_ = made_ ? Ring::works : Ring::refused;
}

void UringStorage::submit(Io& io) noexcept {
  if (!begin(io)) return;
  if (state_ == Ring::none) make_ring();
  while (under_way_ == depth) wait();
  advance(io);
}

void UringStorage::advance(Io& io) noexcept {
  for (bool more = true; more;) {
    if (state_ != Ring::works) return run(io);
    const RawCall call = next_call(io);
    if (!call.error && enqueue(io, call.length)) return;
    more = !call.error || goes_on(io, -call.error);
  }
}

bool UringStorage::enqueue(Io& io, std::uint64_t length) noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry) {
    const std::uint64_t at = io.offset + io.done;
    const bool read = io.kind == Io::Kind::read;
    if (const std::size_t parts = whole_parts(io, length); parts > 1) {
      const auto prepare = read ? io_uring_prep_readv : io_uring_prep_writev;
      prepare(entry, fd(), io.parts.data(), static_cast<unsigned>(parts), at);
    } else {
      const std::span memory = memory_of(io);
      const auto count = static_cast<unsigned>(std::min<std::uint64_t>(length, memory.size()));
      if (read)
        io_uring_prep_read(entry, fd(), memory.data(), count, at);
      else
        io_uring_prep_write(entry, fd(), memory.data(), count, at);
    }
    // Without it the kernel tries first in the caller's time, which for buffered writes is all the work.
    io_uring_sqe_set_flags(entry, IOSQE_ASYNC);
    io_uring_sqe_set_data(entry, &io);
    int taken;
    do {
      taken = io_uring_submit(&ring_);
    } while (taken == -EINTR);
    if (io_uring_sq_ready(&ring_) == 0) {
      ++under_way_;
      return true;
    }
  }
  state_ = Ring::refused;  // the entry stays in the queue, so nothing may be submitted any more
  return false;
}

bool UringStorage::goes_on(Io& io, std::int64_t outcome) noexcept {
  stalls_ = outcome == -EAGAIN ? stalls_ + 1 : 0;
  return (stalls_ > 0 && stalls_ < most_stalls) || book(io, outcome);
}

bool UringStorage::complete(io_uring_cqe* entry) noexcept {
  auto& io = *static_cast<Io*>(io_uring_cqe_get_data(entry));
  const int outcome = entry->res;
  io_uring_cqe_seen(&ring_, entry);
  --under_way_;
  if (goes_on(io, outcome)) advance(io);
  return io.finished;
}

std::size_t UringStorage::poll() noexcept {
  io_uring_cqe* entry = nullptr;
  while (under_way_ > 0 && io_uring_peek_cqe(&ring_, &entry) == 0) complete(entry);
  return under_way_;
}

void UringStorage::wait() noexcept {
  for (bool finished = false; under_way_ > 0 && !finished;) {
    io_uring_cqe* entry = nullptr;
    if (io_uring_wait_cqe(&ring_, &entry) == 0) finished = complete(entry);
  }
}

void UringStorage::drain() noexcept {
  while (under_way_ > 0) wait();
}

int UringStorage::sync() noexcept {
  drain();
  return PosixStorage::sync();
}

int UringStorage::close() noexcept {
  drain();
  if (made_) io_uring_queue_exit(&ring_);
  made_ = false;
  state_ = Ring::refused;
  return PosixStorage::close();
}

}  // namespace weir

#endif

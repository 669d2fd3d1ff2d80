#include "remote/served_socket.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/log.hpp"
#include "remote/protocol.hpp"

namespace weir {

void ServedSocket::lend(std::uint64_t region, std::span<std::byte> memory) {
  const std::lock_guard lock{mutex_};
  regions_.insert_or_assign(region, memory);
}

void ServedSocket::free(std::uint64_t region) noexcept {
  const std::lock_guard lock{mutex_};
  if (regions_.erase(region) == 0) return;
  bool moves = !put_.empty() && put_region_ == region;
  for (std::size_t i = first_; i < last_; ++i) moves = moves || (!answers_[i].data.empty() && answers_[i].region == region);
  if (moves) hang_up();
}

bool ServedSocket::open(Descriptor socket) noexcept {
  const std::lock_guard lock{mutex_};
  if (std::exchange(opened_, true)) return false;
  socket_ = std::move(socket);
  return watch(EPOLL_CTL_ADD, EPOLLIN);
}

void ServedSocket::close() noexcept {
  const std::lock_guard lock{mutex_};
  hang_up();
  regions_.clear();
}

void ServedSocket::hang_up() noexcept {
  if (socket_) ::epoll_ctl(watcher_, EPOLL_CTL_DEL, socket_.get(), nullptr);
  socket_.reset();
  put_ = {};
  first_ = last_ = 0;
}

bool ServedSocket::watch(int operation, std::uint32_t events) noexcept {
  epoll_event event{events | EPOLLONESHOT, {.u64 = tag_}};
  return ::epoll_ctl(watcher_, operation, socket_.get(), &event) == 0;
}

void ServedSocket::serve() noexcept {
  const std::lock_guard lock{mutex_};
  const Wants wants = work();
  if (wants == Wants::end || !watch(EPOLL_CTL_MOD, wants == Wants::room ? EPOLLOUT : EPOLLIN)) hang_up();
}

ServedSocket::Wants ServedSocket::work() noexcept {
  constexpr int most_turns = 64;  // so that others come by
  bool drained = false, full = false, good = true;
  for (int turn = 0; turn < most_turns && good && socket_; ++turn) {
    while (good && put_.empty() && unread() >= sizeof(TransferHeading) && last_ < answers_.size())
      good = take_heading();
    if (good && first_ < last_) good = send(full);
    if (full) return Wants::room;
    if (!good || first_ < last_ || (put_.empty() && unread() >= sizeof(TransferHeading))) continue;
    good = receive(drained);
    if (drained) return Wants::request;
  }
  return good && socket_ ? Wants::room : Wants::end;  // with room it is told at once, to do the rest
}

bool ServedSocket::take_heading() noexcept {
  TransferHeading heading;
  std::memcpy(&heading, in_.data() + in_begin_, sizeof heading);
  in_begin_ += sizeof heading;
  if (!heading.is_right()) return false;
  if (heading.verb == TransferVerb::settle) {
    answers_[last_++] = {heading.bytes, {}, 0, true};
    return true;
  }
  const auto found = regions_.find(heading.region);
  if (found == regions_.end() || heading.bytes == 0 || !is_inside(found->second.size(), heading.offset, heading.bytes))
    return false;
  const auto memory = found->second.subspan(heading.offset, heading.bytes);
  if (heading.verb == TransferVerb::get) {
    answers_[last_++] = {0, memory, heading.region, false};
    return true;
  }
  if (heading.verb != TransferVerb::put) return false;
  put_ = memory;
  put_region_ = heading.region;
  put_sum_.restart();
  right_sum_ = heading.data_sum;
  const std::size_t here = std::min(unread(), memory.size());
  std::memcpy(memory.data(), in_.data() + in_begin_, here);
  in_begin_ += here;
  return take_data(here);
}

/// The next bytes of a put are in place; false when it is complete and not what was sent.
bool ServedSocket::take_data(std::uint64_t bytes) noexcept {
  put_sum_.add(put_.first(bytes));
  put_ = put_.subspan(bytes);
  if (!put_.empty() || put_sum_.value() == right_sum_) return true;
  log_line(LogComponent::remote, LogLevel::warn, "a client is given up: the data that it sent was damaged on its way");
  return false;
}

bool ServedSocket::receive(bool& drained) noexcept {
  std::memmove(in_.data(), in_.data() + in_begin_, unread());
  in_end_ = unread();
  in_begin_ = 0;
  std::array<iovec, 2> parts{{{put_.data(), put_.size()}, {in_.data() + in_end_, in_.size() - in_end_}}};
  const ssize_t got = ::readv(socket_.get(), parts.data(), parts.size());
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return drained = true;
  if (got < 0) return errno == EINTR;
  if (got == 0) return false;
  const std::size_t here = std::min(static_cast<std::size_t>(got), put_.size());
  in_end_ += static_cast<std::size_t>(got) - here;
  return here == 0 || take_data(here);
}

bool ServedSocket::send(bool& full) noexcept {
  constexpr std::uint64_t enough = 512 << 10;  // bytes at once, so that they are still near when they are copied
  std::array<iovec, 2 * std::tuple_size_v<decltype(answers_)>> parts;
  std::size_t count = 0;
  std::uint64_t skip = sent_, whole = 0;
  for (std::size_t i = first_; i < last_ && whole < enough; ++i) {
    Answer& answer = answers_[i];
    if (!std::exchange(answer.summed, true)) answer.number = DataSum::of(answer.data);
    for (const auto part : {std::as_bytes(std::span{&answer.number, 1}), answer.data}) {
      const std::uint64_t sent = std::min<std::uint64_t>(skip, part.size());
      skip -= sent;
      whole += part.size() - sent;
      if (sent < part.size()) parts[count++] = {const_cast<std::byte*>(part.data()) + sent, part.size() - sent};
    }
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return full = true;
  if (sent < 0) return errno == EINTR;
  take_sent(static_cast<std::uint64_t>(sent));
  return true;
}

void ServedSocket::take_sent(std::uint64_t bytes) noexcept {
  while (bytes > 0) {
    const std::uint64_t left = sizeof answers_[first_].number + answers_[first_].data.size() - sent_;
    if (bytes < left) {
      sent_ += bytes;
      return;
    }
    bytes -= left;
    sent_ = 0;
    ++first_;
  }
  if (first_ == last_) first_ = last_ = 0;
}

}  // namespace weir

#include "memory/bank.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {
namespace {

std::uint64_t page_size() noexcept {
  static const auto size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

BankAttributes BankAttributes::of(const Bank& described) {
  BankAttributes attributes;
  attributes.name = described.name;
  attributes.kind = described.kind;
  attributes.capacity = static_cast<std::uint64_t>(std::max(0.0, described.capacity.value));
  attributes.persistency = described.persistency;
  attributes.scope = described.scope;
  return attributes;
}

namespace {

Status outside_bank(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return problem(Code::invalid, [&] {
    return fmt::format("cannot access {} bytes at {} of memory of a bank: it has {}", bytes, offset, size);
  });
}

}  // namespace

Status Allocation::put(std::uint64_t offset, const std::byte* from, std::uint64_t bytes) const noexcept {
  if (far_) return far_->put(offset, from, bytes);
  if (offset > size() || bytes > size() - offset) return outside_bank(size(), offset, bytes);
  if (bytes > 0) std::memcpy(data() + offset, from, bytes);
  return {};
}

Status Allocation::get(std::uint64_t offset, std::byte* to, std::uint64_t bytes) const noexcept {
  if (far_) return far_->get(offset, to, bytes);
  if (offset > size() || bytes > size() - offset) return outside_bank(size(), offset, bytes);
  if (bytes > 0) std::memcpy(to, data() + offset, bytes);
  return {};
}

Status Allocation::flush() const noexcept {
  if (far_) return far_->flush();
  if (!synced_ || ::msync(data(), size(), MS_SYNC) == 0) return {};
  return system_problem(errno, "flush node-local memory", "what is in it may not be on its device");
}

void Allocation::release() noexcept {
  segment_ = {};
  far_.reset();
  if (account_) account_->used -= charged_;
  account_.reset();
}

bool MemoryBank::charge(std::uint64_t bytes) noexcept {
  std::uint64_t used = account_->used;
  do {
    if (attributes_.capacity > 0 && (used > attributes_.capacity || bytes > attributes_.capacity - used)) return false;
  } while (!account_->used.compare_exchange_weak(used, used + bytes));
  return true;
}

Result<Allocation> MemoryBank::allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > std::uint64_t{1} << 62)
    return problem(Code::invalid, [&] {
      return fmt::format("cannot allocate {} in bank '{}': not a size of memory", format_bytes(bytes),
                         attributes_.name);
    });
  const std::uint64_t charged = (bytes + page_size() - 1) / page_size() * page_size();
  if (!charge(charged))
    return problem(on_storage() ? Code::no_space : Code::no_memory, [&] {
      return fmt::format("cannot allocate {} in bank '{}': {} of {} are in use", format_bytes(bytes), attributes_.name,
                         format_bytes(used()), format_bytes(attributes_.capacity));
    }, "use smaller or fewer buffers, or another bank");
  auto memory = take(charged);
  if (!memory) {
    account_->used -= charged;
    return memory.status();
  }
  return Allocation{std::move(*memory), account_, charged, on_storage()};
}

}  // namespace weir

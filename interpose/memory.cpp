#include "memory.hpp"

#include <algorithm>

#include "core/copy_pieces.hpp"

namespace weir::interpose {

namespace {

/// An address, also from MPI_BOTTOM, which is no place to count from as C++ sees it.
std::byte* moved(std::byte* base, std::int64_t bytes) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(bytes));
}

}  // namespace

Memory::Memory(void* buffer, std::uint64_t count, MPI_Datatype type)
    : type_{FlatType::of(type)}, buffer_{static_cast<std::byte*>(buffer)}, bytes_{count * type_.size()} {
  if (bytes_ == 0) return;
  const Block& first = type_.blocks().front();
  if (type_.dense() || (count == 1 && type_.blocks().size() == 1 && first.count == 1)) {
    data_ = moved(buffer_, first.at);
  } else {
    copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    data_ = copy_.get();
  }
}

/// Calls `copy(place, packed, length, stride, count)` for pieces of the first `bytes`.
template <class Copy>
void Memory::for_each(std::uint64_t bytes, Copy&& copy) const noexcept {
  std::byte *packed = copy_.get(), *base = buffer_;
  for (; bytes > 0; base = moved(base, type_.extent()))
    for (const Block& block : type_.blocks()) {
      const std::uint64_t whole = std::min(block.count, bytes / block.length);
      copy(moved(base, block.at), packed, block.length, static_cast<std::ptrdiff_t>(block.stride), whole);
      packed += whole * block.length;
      bytes -= whole * block.length;
      if (whole == block.count) continue;
      copy(moved(base, block.at + static_cast<std::int64_t>(whole) * block.stride), packed, bytes, 0, 1);
      return;
    }
}

void Memory::pack() const noexcept {
  if (!copy_) return;
  for_each(bytes_,
           [](const std::byte* place, std::byte* packed, std::uint64_t length, std::ptrdiff_t stride, auto count) {
             copy_pieces(packed, static_cast<std::ptrdiff_t>(length), place, stride, length, count);
           });
}

void Memory::unpack(std::uint64_t bytes) const noexcept {
  if (!copy_) return;
  for_each(bytes,
           [](std::byte* place, const std::byte* packed, std::uint64_t length, std::ptrdiff_t stride, auto count) {
             copy_pieces(place, stride, packed, static_cast<std::ptrdiff_t>(length), length, count);
           });
}

}  // namespace weir::interpose

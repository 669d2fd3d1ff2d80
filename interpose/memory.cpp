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
  if (type_.dense() || (count == 1 && type_.whole())) {
    data_ = moved(buffer_, type_.single()->at);
  } else {
    copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    data_ = copy_.get();
  }
}

/// Calls `copy(place, packed, length, stride, count)` for pieces of the first `bytes`.
template <class Copy>
void Memory::for_each(std::uint64_t bytes, Copy&& copy) const noexcept {
  std::byte *packed = copy_.get(), *base = buffer_;
  for (; bytes > 0; base = moved(base, type_.extent())) {
    const std::uint64_t here = std::min(bytes, type_.size());
    type_.for_each(0, here, [&](const Block& block, std::uint64_t, std::uint64_t part) {
      const std::uint64_t whole = part / block.length;
      copy(moved(base, block.at), packed, block.length, static_cast<std::ptrdiff_t>(block.stride), whole);
      packed += whole * block.length;
      const std::uint64_t rest = part - whole * block.length;
      if (rest > 0) copy(moved(base, block.at + static_cast<std::int64_t>(whole) * block.stride), packed, rest, 0, 1);
      packed += rest;
    });
    bytes -= here;
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

#include "buffers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "contents.hpp"

namespace weir::bench {
namespace {

constexpr std::uint64_t gap = 64;
constexpr auto poison_byte = std::byte{0xA5};

}  // namespace

Buffers::Buffers(Part part) : part_{std::move(part)} {
  for (const Decomposition& decomposition : part_.decompositions) {
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces_.emplace_back(bench::pieces(decomposition))) bytes += piece.length;
    shape_bytes_.push_back(bytes);
  }
  memory_bytes_ = gap;
  for (std::size_t v = 0; v < variables(); ++v) {
    distances_.push_back(memory_bytes_);
    total_ += bytes(v);
    memory_bytes_ += (bytes(v) + gap - 1) / gap * gap + gap;
  }
  memory_ = std::make_unique<std::byte[]>(memory_bytes_);
}

void Buffers::fill(std::uint64_t seed) {
  for (std::size_t v = 0; v < variables(); ++v) {
    std::byte* next = data(v);
    for (const Piece& piece : pieces(v)) {
      bench::fill({next, piece.length}, part_.variables[v].at + piece.offset, seed);
      next += piece.length;
    }
  }
}

void Buffers::poison() { std::fill_n(base(), memory_bytes_, poison_byte); }

std::string Buffers::check(std::uint64_t seed) const {
  const std::byte* checked = base();
  const auto untouched = [&](const std::byte* end) {
    return std::all_of(checked, end, [](std::byte byte) { return byte == poison_byte; });
  };
  for (std::size_t v = 0; v < variables(); ++v) {
    const std::byte* next = data(v);
    if (!untouched(next)) return fmt::format("memory before variable {} was written to", v);
    for (const Piece& piece : pieces(v)) {
      const std::uint64_t offset = part_.variables[v].at + piece.offset;
      if (const auto wrong = first_difference({next, piece.length}, offset, seed))
        return fmt::format("variable {}: what was read from offset {} is not what the file holds", v, offset + *wrong);
      next += piece.length;
    }
    checked = next;
  }
  if (!untouched(base() + memory_bytes_)) return "memory behind the last variable was written to";
  return {};
}

}  // namespace weir::bench

#include "core/pieces.hpp"

#include <queue>

#include "core/copy_pieces.hpp"
#include "core/covered.hpp"

namespace weir {

namespace {

struct Piece {
  std::uint64_t offset, length, memory;
};

bool ascending(std::span<const Run> runs) {
  std::uint64_t end = 0;
  for (const Run& run : runs) {
    if (run.length == 0 || run.count == 0) continue;
    if (run.offset < end || (run.count > 1 && run.stride < run.length)) return false;
    end = run.offset + (run.count - 1) * run.stride + run.length;
  }
  return true;
}

std::vector<Piece> flatten(std::span<const Run> runs) {
  std::vector<Piece> pieces;
  std::size_t total = 0;
  for (const Run& run : runs) total += run.count;
  pieces.reserve(total);
  std::uint64_t memory = 0;
  for (const Run& run : runs)
    for (std::uint64_t k = 0; k < run.count && run.length > 0; ++k, memory += run.length)
      pieces.push_back({run.offset + k * run.stride, run.length, memory});
  return pieces;
}

/// Later pieces cover earlier ones: a sweep over the offsets, the newest live piece on top.
std::vector<Piece> uncovered(const std::vector<Piece>& sorted) {
  std::vector<Piece> visible;
  auto older = [](const Piece& a, const Piece& b) { return a.memory < b.memory; };
  std::priority_queue<Piece, std::vector<Piece>, decltype(older)> live{older};
  std::uint64_t at = 0;
  std::size_t next = 0;
  while (next < sorted.size() || !live.empty()) {
    while (!live.empty() && live.top().offset + live.top().length <= at) live.pop();
    if (live.empty()) {
      if (next == sorted.size()) break;
      at = sorted[next].offset;
    }
    while (next < sorted.size() && sorted[next].offset <= at) live.push(sorted[next++]);
    const Piece& top = live.top();
    std::uint64_t until = top.offset + top.length;
    if (next < sorted.size()) until = std::min(until, sorted[next].offset);
    if (until > at) visible.push_back({at, until - at, top.memory + (at - top.offset)});
    at = until;
  }
  return visible;
}

}  // namespace

PieceList PieceList::of(std::span<const Run> runs) {
  PieceList list;
  if (ascending(runs)) {
    std::uint64_t memory = 0;
    list.runs_.reserve(runs.size());
    for (const Run& run : runs) {
      if (run.length == 0 || run.count == 0) continue;
      if (run.count == 1 || run.stride == run.length) {
        list.append(run.offset, run.length * run.count, memory);
      } else {
        list.runs_.push_back({run.offset, run.length, run.stride, run.count, memory, list.bytes()});
      }
      memory += run.length * run.count;
    }
    list.shrink();
    return list;
  }
  std::vector<Piece> pieces = flatten(runs);
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.offset < b.offset || (a.offset == b.offset && a.memory < b.memory);
  });
  const bool overlaps = std::adjacent_find(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
                          return a.offset + a.length > b.offset;
                        }) != pieces.end();
  for (const Piece& piece : overlaps ? uncovered(pieces) : pieces)
    list.append(piece.offset, piece.length, piece.memory);
  list.shrink();
  return list;
}

PieceList PieceList::union_of(std::span<const PieceList* const> lists, Extent within) {
  PieceList packed;
  std::uint64_t before = 0;
  for (const Extent& extent : covered(lists, within)) {
    packed.append(extent.offset, extent.length, before);
    before += extent.length;
  }
  packed.shrink();
  return packed;
}

std::optional<PieceList> PieceList::checked(std::vector<Strided> runs) {
  constexpr std::uint64_t most = std::uint64_t{1} << 63;
  PieceList list;
  std::uint64_t end = 0, before = 0;
  for (Strided& run : runs) {
    std::uint64_t bytes = 0, span = 0;
    if (run.length == 0 || run.count == 0 || run.offset < end || (run.count > 1 && run.stride < run.length)) return {};
    if (__builtin_mul_overflow(run.count, run.length, &bytes) || bytes > most || run.memory > most - bytes) return {};
    if (__builtin_mul_overflow(run.count - 1, run.stride, &span) || __builtin_add_overflow(span, run.length, &span) ||
        span > most || run.offset > most - span)
      return {};
    run.before = before;
    before += bytes;  // cannot overflow: the runs do not overlap
    end = run.offset + span;
    list.runs_.push_back(run);
  }
  list.shrink();
  return list;
}

void PieceList::append(std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
  if (!runs_.empty()) {
    Strided last = runs_.back();
    if (memory == last.memory + last.bytes()) {
      if (last.count == 1 && offset == last.offset + last.length) {
        last.length += length;
        return runs_.replace_back(last);
      }
      if (length == last.length && last.count == 1) last.stride = offset - last.offset;
      if (length == last.length && offset == last.offset + last.count * last.stride) {
        ++last.count;
        return runs_.replace_back(last);
      }
    }
  }
  runs_.push_back({offset, length, 0, 1, memory, bytes()});
}

std::uint64_t PieceList::pieces() const noexcept {
  std::uint64_t total = 0;
  if (runs_.singles()) return runs_.size();
  for (std::size_t i = 0; i < runs_.size(); ++i) total += runs_[i].count;
  return total;
}

std::size_t PieceList::find(std::uint64_t offset, std::size_t first, std::size_t end) const noexcept {
  const std::size_t behind = runs_.first_behind(offset, first, end);
  return behind > first && runs_[behind - 1].end() > offset ? behind - 1 : behind;
}

std::uint64_t PieceList::bytes_before(std::uint64_t offset, std::size_t i) const noexcept {
  if (i == runs_.size()) return bytes();
  const Strided run = runs_[i];
  if (offset <= run.offset) return run.before;
  const std::uint64_t k = run.count > 1 ? (offset - run.offset) / run.stride : 0;
  return run.before + k * run.length + std::min(offset - (run.offset + k * run.stride), run.length);
}

std::uint64_t PieceList::bytes_before(std::uint64_t offset) const noexcept { return bytes_before(offset, find(offset)); }

std::uint64_t PieceList::Counter::bytes_before(std::uint64_t offset) noexcept {
  const auto& runs = list_.runs_;
  std::size_t reach = 1;
  while (run_ + reach < runs.size() && runs[run_ + reach - 1].end() <= offset) reach *= 2;
  run_ = list_.find(offset, run_ + reach / 2, std::min(run_ + reach, runs.size()));
  return list_.bytes_before(offset, run_);
}

std::uint64_t PieceList::next(std::uint64_t offset) const noexcept {
  const std::size_t i = find(offset);
  if (i == runs_.size()) return none;
  const Strided run = runs_[i];
  if (offset <= run.offset) return run.offset;
  const std::uint64_t k = run.count > 1 ? (offset - run.offset) / run.stride : 0;
  const std::uint64_t piece = run.offset + k * run.stride;
  return offset < piece + run.length ? offset : piece + run.stride;
}

std::uint64_t PieceList::memory_of(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const Strided run = runs_[find(offset)];
  const std::uint64_t k = run.count > 1 ? (offset - run.offset) / run.stride : 0;
  const std::uint64_t inside = offset - run.offset - k * run.stride;
  return inside + bytes <= run.length ? run.memory + k * run.length + inside : none;
}

std::uint64_t PieceList::offset_at(std::uint64_t bytes) const noexcept {
  const Strided run = runs_[runs_.last_before(bytes)];
  const std::uint64_t inside = bytes - run.before;
  return run.offset + inside / run.length * run.stride + inside % run.length;
}

void PieceList::scatter(std::uint64_t low, std::uint64_t high, const std::byte* memory,
                        std::byte* target) const noexcept {
  for (std::size_t i = find(low); i < runs_.size() && runs_.offset(i) < high; ++i) {
    const Strided run = runs_[i];
    if (run.offset >= low && run.end() <= high) {
      copy_pieces(target + (run.offset - low), run.stride, memory + run.memory, run.length, run.length, run.count);
    } else {
      for_each(std::max(low, run.offset), std::min(high, run.end()),
               [&](std::uint64_t offset, std::uint64_t length, std::uint64_t at) {
                 std::memcpy(target + (offset - low), memory + at, length);
               });
    }
  }
}

void PieceList::gather(std::uint64_t low, std::uint64_t high, const std::byte* source,
                       std::byte* memory) const noexcept {
  for (std::size_t i = find(low); i < runs_.size() && runs_.offset(i) < high; ++i) {
    const Strided run = runs_[i];
    if (run.offset >= low && run.end() <= high) {
      copy_pieces(memory + run.memory, run.length, source + (run.offset - low), run.stride, run.length, run.count);
    } else {
      for_each(std::max(low, run.offset), std::min(high, run.end()),
               [&](std::uint64_t offset, std::uint64_t length, std::uint64_t at) {
                 std::memcpy(memory + at, source + (offset - low), length);
               });
    }
  }
}

std::vector<Echo> echoes_of(std::span<const Run> runs, const PieceList& visible) {
  std::vector<Echo> echoes;
  for (const Piece& piece : flatten(runs))
    visible.for_each(piece.offset, piece.offset + piece.length,
                     [&](std::uint64_t offset, std::uint64_t length, std::uint64_t memory) {
                       const std::uint64_t here = piece.memory + (offset - piece.offset);
                       if (memory != here) echoes.push_back({memory, here, length});
                     });
  return echoes;
}

void normalise(std::vector<Extent>& extents) {
  auto by_offset = [](const Extent& a, const Extent& b) { return a.offset < b.offset; };
  if (!std::is_sorted(extents.begin(), extents.end(), by_offset)) std::sort(extents.begin(), extents.end(), by_offset);
  std::size_t kept = 0;
  for (const Extent& extent : extents) {
    if (extent.length == 0) continue;
    if (kept > 0 && extents[kept - 1].end() >= extent.offset) {
      extents[kept - 1].length = std::max(extents[kept - 1].end(), extent.end()) - extents[kept - 1].offset;
    } else {
      extents[kept++] = extent;
    }
  }
  extents.resize(kept);
}

}  // namespace weir

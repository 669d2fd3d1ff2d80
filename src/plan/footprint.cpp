#include "plan/footprint.hpp"

#include <algorithm>
#include <bit>

namespace weir {

namespace {

using Entry = Footprint::Entry;

/// From the first to the last piece, without the void between sub-files.
std::uint64_t reach(const PieceList& list, const FileGroups& files) {
  if (files.shared()) return list.end() - list.begin();
  std::uint64_t total = 0;
  for (std::uint64_t at = list.begin(); at < list.end();) {
    const std::uint64_t next = files.base(files.file_at(at)) + files.room();
    const std::uint64_t before = list.bytes_before(next);
    total += list.offset_at(before - 1) + 1 - at;
    at = before < list.bytes() ? list.offset_at(before) : list.end();
  }
  return total;
}

/// Pieces that start in the same cell of the file become one entry; cells of one sub-file are not those of another.
std::vector<Entry> coarse(const PieceList& list, std::size_t limit, const FileGroups& files) {
  std::vector<Entry> entries;
  const bool few = list.pieces() <= limit;
  const std::uint64_t wanted = few ? 1 : std::bit_ceil(std::max<std::uint64_t>(4096, reach(list, files) / limit));
  const std::uint64_t cell = files.shared() ? wanted : std::min(wanted, files.room());
  std::uint64_t last_cell = 0;
  list.for_each([&](std::uint64_t offset, std::uint64_t length, std::uint64_t) {
    const std::uint64_t here = offset / cell;
    if (!entries.empty() && (entries.back().end() == offset && entries.back().dense())) {
      entries.back().span += length;
      entries.back().bytes += length;
    } else if (!entries.empty() && !few && here == last_cell) {
      entries.back().span = offset + length - entries.back().offset;
      entries.back().bytes += length;
    } else {
      entries.push_back({offset, length, length});
      last_cell = here;
    }
  });
  return entries;
}

}  // namespace

Footprint Footprint::of(const RankDeclaration& declaration, std::size_t limit, const FileGroups& files) {
  Footprint result;
  result.bytes = declaration.bytes();
  result.pieces = declaration.piece_count();
  const bool few = result.pieces <= limit;
  const std::size_t share = std::max<std::size_t>(1, few ? limit : limit / std::max<std::size_t>(1, declaration.variables.size()));
  std::vector<std::vector<Entry>> shapes;
  for (const PieceList& shape : declaration.shapes) shapes.push_back(coarse(shape, share, files));
  for (const auto& variable : declaration.variables)
    for (Entry entry : shapes[variable.shape]) {
      entry.offset += variable.at;
      result.entries.push_back(entry);
    }
  auto by_offset = [](const Entry& a, const Entry& b) { return a.offset < b.offset; };
  if (!std::is_sorted(result.entries.begin(), result.entries.end(), by_offset))
    std::sort(result.entries.begin(), result.entries.end(), by_offset);
  std::size_t kept = 0;
  for (const Entry& entry : result.entries) {
    Entry* last = kept > 0 ? &result.entries[kept - 1] : nullptr;
    if (last && (entry.offset < last->end() || (entry.offset == last->end() && last->dense() && entry.dense()))) {
      last->span = std::max(last->end(), entry.end()) - last->offset;
      last->bytes += entry.bytes;
    } else {
      result.entries[kept++] = entry;
    }
  }
  result.entries.resize(kept);
  return result;
}

}  // namespace weir

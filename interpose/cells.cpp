#include "cells.hpp"

#include <algorithm>

#include "view.hpp"

namespace weir::interpose {

namespace {

/// Pieces that a rank should have in a variable: with fewer there are many variables, with more long lists.
constexpr std::uint64_t pieces_wanted = 512;
/// Fewer pieces than this are listed as fast.
constexpr std::uint64_t worth_it = 1024;

bool meet(const Extent& a, const Cells& b) { return a.length > 0 && a.offset < b.end() && b.at < a.end(); }

/// Whether the pieces of a group ascend; from where to where they are the first time.
bool ascends(std::span<const Block> blocks, Cells& cells) {
  const std::int64_t low = blocks.front().at;
  std::int64_t end = low;
  for (const Block& block : blocks) {
    const auto length = static_cast<std::int64_t>(block.length);
    if (block.at < end || (block.count > 1 && block.stride < length)) return false;
    end = block.at + static_cast<std::int64_t>(block.count - 1) * block.stride + length;
    cells.pieces += block.count;
  }
  cells.reach = static_cast<std::uint64_t>(end - low);
  return true;
}

}  // namespace

std::span<const Group> View::groups(std::uint64_t before, std::uint64_t bytes) const noexcept {
  const std::span<const Group> all{tile_.groups()};
  const auto first = std::ranges::find_if(all, [&](const Group& g) { return g.before + g.bytes() > before; });
  const auto end = std::find_if(first, all.end(), [&](const Group& g) { return g.before >= before + bytes; });
  return {first, end};
}

Sketch View::sketch(std::uint64_t before, std::uint64_t bytes) const noexcept {
  Sketch sketch;
  if (bytes == 0) return sketch;
  const std::uint64_t inside = before % tile_.size();
  sketch.unknown = inside + bytes > tile_.size();
  if (sketch.unknown) return sketch;
  const std::uint64_t base = displacement_ + before / tile_.size() * static_cast<std::uint64_t>(tile_.extent());
  std::uint64_t end = 0;
  for (const Group& group : groups(inside, bytes)) {
    const auto blocks = tile_.blocks(group);
    const bool whole = group.before >= inside && group.before + group.bytes() <= inside + bytes;
    Cells cells{base + static_cast<std::uint64_t>(blocks.front().at), static_cast<std::uint64_t>(group.distance),
                group.count, 0, 0};
    sketch.unknown = !ascends(blocks, cells) || cells.at < end ||
                     (cells.count > 1 && (!whole || group.distance < 0 || cells.distance < cells.reach));
    if (sketch.unknown) return sketch;
    end = cells.at + cells.distance * (cells.count - 1) + cells.reach;
    if (cells.count > 1 && cells.count * cells.pieces >= worth_it && sketch.count < Sketch::most) {
      sketch.cells[sketch.count++] = cells;
    } else {
      Extent& rest = sketch.rest[sketch.count];
      if (rest.length == 0) rest.offset = cells.at;
      rest.length = end - rest.offset;
    }
  }
  return sketch;
}

std::vector<CommonCells> common_cells(std::span<const Sketch> sketches) {
  std::vector<CommonCells> common;
  for (const Sketch& sketch : sketches) {
    if (sketch.unknown) return {};
    for (const Cells& own : std::span{sketch.cells}.first(sketch.count)) {
      const auto known = std::ranges::find_if(common, [&](const CommonCells& other) {
        return other.cells.distance == own.distance && other.cells.count == own.count &&
               other.cells.at < own.at + own.distance && own.at < other.cells.at + own.distance;
      });
      if (known == common.end()) {
        if (common.size() == Sketch::most) return {};
        common.push_back({own});
        continue;
      }
      const std::uint64_t end = std::max(known->cells.at + known->cells.reach, own.at + own.reach);
      known->cells.at = std::min(known->cells.at, own.at);
      known->cells.reach = end - known->cells.at;
      known->cells.pieces += own.pieces;
    }
  }
  std::ranges::sort(common, {}, [](const CommonCells& c) { return c.cells.at; });
  for (std::size_t i = 0; i < common.size(); ++i) {
    Cells& cells = common[i].cells;
    if (cells.reach > cells.distance || (i > 0 && cells.at < common[i - 1].cells.end())) return {};
    for (const Sketch& sketch : sketches)
      if (std::ranges::any_of(sketch.rest, [&](const Extent& rest) { return meet(rest, cells); })) return {};
    const std::uint64_t each = std::max<std::uint64_t>(1, cells.pieces / sketches.size());
    common[i].together =
        std::clamp<std::uint64_t>(pieces_wanted / each, 1, std::max<std::uint64_t>(1, cells.count / 4));
  }
  return common;
}

Declaration View::declaration(std::uint64_t before, std::uint64_t bytes, std::span<const CommonCells> common) const {
  Declaration result;
  if (common.empty()) return result.variable(runs(before, bytes)), result;
  const std::uint64_t size = std::max<std::uint64_t>(1, tile_.size()), inside = before % size;
  const std::uint64_t base = displacement_ + before / size * static_cast<std::uint64_t>(tile_.extent());
  const auto own = bytes > 0 ? groups(inside, bytes) : std::span<const Group>{};
  const auto place = [&](const Group& group) {
    return base + static_cast<std::uint64_t>(tile_.blocks(group).front().at);
  };
  std::uint64_t done = 0;
  auto group = own.begin();
  for (const auto& [cells, together] : common) {
    while (group != own.end() && place(*group) < cells.at) ++group;
    const std::uint64_t begin = group != own.end() ? std::max(group->before, inside) - inside : bytes;
    result.variable(runs(before + done, begin - done));
    done = begin;
    std::vector<Run> once;
    if (group != own.end() && place(*group) < cells.at + cells.distance) {
      once = runs(before + done, group->once * together);
      for (Run& run : once) run.offset -= cells.at;
      done += group->once * together * (cells.count / together);
      ++group;
    }
    const int shape = result.decomposition(std::move(once));
    for (std::uint64_t i = 0; i < cells.count / together; ++i)
      result.variable(shape, cells.at + i * together * cells.distance);
  }
  result.variable(runs(before + done, bytes - done));
  return result;
}

}  // namespace weir::interpose

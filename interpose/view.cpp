#include "view.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>

namespace weir::interpose {

namespace {

/// Runs in the order of the data, merged where they continue one another.
class Runs {
 public:
  void add(std::uint64_t at, std::uint64_t length) {
    if (length == 0) return;
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.count == 1 && at == last.offset + last.length) {
        last.length += length;
        return;
      }
      if (last.count > 1 && length == last.length && at == last.offset + last.count * last.stride) {
        ++last.count;
        return;
      }
    }
    runs.push_back({at, length, 0, 1});
  }

  void add(std::uint64_t at, std::uint64_t length, std::int64_t stride, std::uint64_t count) {
    if (stride < static_cast<std::int64_t>(length)) {  // backwards or over itself: not for a run
      for (std::uint64_t i = 0; i < count; ++i) add(at + i * static_cast<std::uint64_t>(stride), length);
    } else if (count < 2) {
      add(at, length * count);
    } else if (continues(at, length, static_cast<std::uint64_t>(stride))) {
      runs.back().count += count;
    } else {
      runs.push_back({at, length, static_cast<std::uint64_t>(stride), count});
    }
  }

  /// `bytes` of a block, from its `skip`th on.
  void add(const Block& block, std::uint64_t base, std::uint64_t skip, std::uint64_t bytes) {
    const auto place = [&](std::uint64_t piece) {
      return base + static_cast<std::uint64_t>(block.at) + piece * static_cast<std::uint64_t>(block.stride);
    };
    std::uint64_t piece = skip / block.length;
    if (const std::uint64_t inside = skip % block.length; inside > 0) {
      const std::uint64_t length = std::min(bytes, block.length - inside);
      add(place(piece++) + inside, length);
      bytes -= length;
    }
    const std::uint64_t whole = bytes / block.length;
    if (whole > 0)
      add(place(piece), block.length, whole > 1 ? block.stride : static_cast<std::int64_t>(block.length), whole);
    add(place(piece + whole), bytes - whole * block.length);
  }

  std::vector<Run> runs;

 private:
  [[nodiscard]] bool continues(std::uint64_t at, std::uint64_t length, std::uint64_t stride) const {
    if (runs.empty()) return false;
    const Run& last = runs.back();
    return last.count > 1 && last.length == length && last.stride == stride && at == last.offset + last.count * stride;
  }
};

}  // namespace

View::Pattern View::pattern(std::uint64_t before, std::uint64_t bytes) const noexcept {
  if (tile_.dense())
    return {XXH3_64bits_withSeed(&bytes, sizeof bytes, 1),
            displacement_ + static_cast<std::uint64_t>(tile_.single()->at) + before};
  const std::array<std::uint64_t, 2> part{before % tile_.size(), bytes};
  return {XXH3_64bits_withSeed(part.data(), sizeof part, hash_),
          displacement_ + before / tile_.size() * static_cast<std::uint64_t>(tile_.extent())};
}

std::vector<Run> View::runs(std::uint64_t before, std::uint64_t bytes) const {
  if (bytes == 0 || empty()) return {};
  Runs result;
  const std::uint64_t size = tile_.size();
  const auto extent = static_cast<std::uint64_t>(tile_.extent());
  if (tile_.dense()) {
    result.add(displacement_ + static_cast<std::uint64_t>(tile_.single()->at) + before, bytes);
    return std::move(result.runs);
  }
  if (tile_.whole()) {  // one piece a tile: whole tiles are one run
    const Block comb{tile_.single()->at, size, tile_.extent(), ~std::uint64_t{0}, 0};
    result.add(comb, displacement_, before, bytes);
    return std::move(result.runs);
  }
  for (std::uint64_t tile = before / size, inside = before % size; bytes > 0; ++tile, inside = 0) {
    const std::uint64_t here = std::min(bytes, size - inside);
    tile_.for_each(inside, here, [&](const Block& block, std::uint64_t skip, std::uint64_t part) {
      result.add(block, displacement_ + tile * extent, skip, part);
    });
    bytes -= here;
  }
  return std::move(result.runs);
}

std::vector<Extent> View::few_pieces(std::uint64_t before, std::uint64_t bytes, std::uint64_t most) const {
  if (bytes == 0 || empty()) return {};
  const std::uint64_t tiles = tile_.dense() ? 1 : (before % tile_.size() + bytes - 1) / tile_.size() + 1;
  if (tiles > most || tile_.groups().size() > most) return {};
  std::uint64_t blocks = 0;
  for (const Group& group : tile_.groups()) blocks += (group.end - group.first) * group.count;
  if (blocks * tiles > 2 * most) return {};
  std::vector<Extent> pieces;
  for (const Run& run : runs(before, bytes)) {
    if (run.count > most - pieces.size()) return {};
    for (std::uint64_t i = 0; i < run.count; ++i) pieces.push_back({run.offset + i * run.stride, run.length});
  }
  return pieces;
}

std::uint64_t View::bytes_before(std::uint64_t before, std::uint64_t bytes, std::uint64_t end) const {
  std::uint64_t found = 0;
  for (const Run& run : runs(before, bytes)) {
    if (run.offset + (run.count - 1) * run.stride + run.length <= end) {
      found += run.length * run.count;
      continue;
    }
    std::uint64_t whole = 0;
    if (run.count > 1 && run.offset + run.length <= end) whole = (end - run.offset - run.length) / run.stride + 1;
    const std::uint64_t at = run.offset + whole * run.stride;
    return found + whole * run.length + (at < end ? end - at : 0);
  }
  return found;
}

}  // namespace weir::interpose

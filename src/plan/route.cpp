#include "plan/route.hpp"

#include <algorithm>

namespace weir {

Range window_range(const Layout& layout, std::size_t window, std::uint64_t at) noexcept {
  const Extent file = layout.window_file_range(window);
  return {file.offset > at ? file.offset - at : 0, file.end() > at ? file.end() - at : 0};
}

Route Route::of(const RankDeclaration& declaration, const Layout& layout) {
  struct Line {
    std::uint32_t window, variable;
    std::uint64_t bytes;
  };
  if (layout.windows() == 0) return {};
  std::vector<Line> lines;
  for (std::uint32_t v = 0; v < declaration.variables.size(); ++v) {
    const PieceList& pieces = declaration.pieces(v);
    if (pieces.empty()) continue;
    const std::uint64_t at = declaration.variables[v].at;
    const std::size_t last = layout.window_at(layout.to_packed(pieces.end() - 1 + at));
    for (std::size_t w = layout.window_at(layout.to_packed(pieces.begin() + at)); w <= last; ++w) {
      const auto [low, high] = window_range(layout, w, at);
      const std::uint64_t bytes = pieces.bytes_before(high) - pieces.bytes_before(low);
      if (bytes > 0) lines.push_back({static_cast<std::uint32_t>(w), v, bytes});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.window < b.window; });
  Route route;
  route.transfers.reserve(lines.size());
  for (const Line& line : lines) {
    if (route.edges.empty() || route.edges.back().window != line.window)
      route.edges.push_back({line.window, static_cast<std::uint32_t>(route.transfers.size()), 0, 0});
    Edge& edge = route.edges.back();
    route.transfers.push_back({line.variable, line.bytes, edge.bytes});
    ++edge.transfers;
    edge.bytes += line.bytes;
  }
  return route;
}

const Edge* Route::find(std::uint32_t window) const noexcept {
  const auto it = std::lower_bound(edges.begin(), edges.end(), window,
                                   [](const Edge& edge, std::uint32_t w) { return edge.window < w; });
  return it != edges.end() && it->window == window ? &*it : nullptr;
}

namespace {

/// Calls `copy(low, high, place)` for each stretch of pieces that lie in one segment of the window; `place` is where
/// offset `low` is in the window's buffer.
template <class Copy>
void by_segment(const Layout& layout, std::size_t window, const PieceList& pieces, std::uint64_t at, Range part,
                Copy&& copy) {
  const std::uint64_t begin = layout.cuts[window], end = layout.cuts[window + 1];
  const std::uint64_t first = std::max(begin, layout.to_packed(at + pieces.begin()));
  for (std::size_t s = layout.segment_at(first); s < layout.segments.size() && layout.segments[s].packed < end; ++s) {
    const Segment& segment = layout.segments[s];
    const std::uint64_t from = std::max(begin, segment.packed), to = std::min(end, segment.packed_end());
    const std::uint64_t file_low = segment.file + (from - segment.packed), file_high = file_low + (to - from);
    if (file_high <= at) continue;
    if (file_low >= at + pieces.end()) return;
    const std::uint64_t low = std::max(file_low, at + part.low);
    const std::uint64_t high = std::min(file_high - at, part.high);
    if (low - at < high) copy(low - at, high, from - begin + (low - file_low));
  }
}

}  // namespace

void copy_in(const Layout& layout, std::size_t window, const PieceList& pieces, std::uint64_t at,
             const std::byte* memory, std::byte* buffer, Range part) noexcept {
  by_segment(layout, window, pieces, at, part, [&](std::uint64_t low, std::uint64_t high, std::uint64_t place) {
    pieces.scatter(low, high, memory, buffer + place);
  });
}

void copy_out(const Layout& layout, std::size_t window, const PieceList& pieces, std::uint64_t at,
              const std::byte* buffer, std::byte* memory, Range part) noexcept {
  by_segment(layout, window, pieces, at, part, [&](std::uint64_t low, std::uint64_t high, std::uint64_t place) {
    pieces.gather(low, high, buffer + place, memory);
  });
}

}  // namespace weir

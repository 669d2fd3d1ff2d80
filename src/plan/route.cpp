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
    std::uint64_t bytes, place, memory;
  };
  if (layout.windows() == 0) return {};
  std::vector<Line> lines;
  for (std::uint32_t v = 0; v < declaration.variables.size(); ++v) {
    const PieceList& pieces = declaration.pieces(v);
    if (pieces.empty()) continue;
    const std::uint64_t at = declaration.variables[v].at;
    std::uint64_t before = 0;
    for (std::uint64_t next = pieces.begin(); next != PieceList::none;) {
      const std::uint64_t packed = layout.to_packed(next + at);
      const std::size_t w = layout.window_at(packed);
      const std::uint64_t end = window_range(layout, w, at).high;
      const std::uint64_t until = pieces.bytes_before(end);
      const std::uint64_t bytes = until - before;
      const bool one_segment = packed + bytes <= layout.segments[layout.segment_at(packed)].packed_end();
      lines.push_back({static_cast<std::uint32_t>(w), v, bytes, packed - layout.cuts[w],
                       one_segment ? pieces.memory_of(next, bytes) : PieceList::none});
      before = until;
      next = pieces.next(end);
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.window < b.window; });
  Route route;
  route.transfers.reserve(lines.size());
  for (const Line& line : lines) {
    if (route.edges.empty() || route.edges.back().window != line.window)
      route.edges.push_back({line.window, static_cast<std::uint32_t>(route.transfers.size()), 0, 0});
    Edge& edge = route.edges.back();
    route.transfers.push_back({line.variable, line.bytes, edge.bytes, line.place, line.memory});
    ++edge.transfers;
    edge.bytes += line.bytes;
  }
  return route;
}

namespace {

auto first_from(const std::vector<Edge>& edges, std::uint32_t window) {
  return std::lower_bound(edges.begin(), edges.end(), window,
                          [](const Edge& edge, std::uint32_t w) { return edge.window < w; });
}

}  // namespace

const Edge* Route::find(std::uint32_t window) const noexcept {
  const auto it = first_from(edges, window);
  return it != edges.end() && it->window == window ? &*it : nullptr;
}

std::span<const Edge> Route::edges_of(const Domain& domain) const noexcept {
  return {first_from(edges, domain.first_window), first_from(edges, domain.first_window + domain.windows)};
}

Route Route::part(const Domain& domain) const {
  Route result;
  const auto own = edges_of(domain);
  if (own.empty()) return result;
  const std::uint32_t first = own.front().first_transfer, end = own.back().first_transfer + own.back().transfers;
  result.edges.assign(own.begin(), own.end());
  for (Edge& edge : result.edges) edge.first_transfer -= first;
  result.transfers.assign(transfers.begin() + first, transfers.begin() + end);
  return result;
}

namespace {

/// Calls `copy(low, high, place)` for each stretch of pieces that lie in one segment of the window; `place` is where
/// offset `low` is in the window's buffer.
template <class Copy>
void by_segment(const Layout& layout, std::size_t window, const PieceList& pieces, std::uint64_t at, Range part,
                Copy&& copy) {
  const Range range = window_range(layout, window, at);
  const std::uint64_t high = std::min(range.high, part.high);
  std::size_t s = layout.segments.size();
  for (std::uint64_t low = pieces.next(std::max(range.low, part.low)); low < high;) {
    const std::uint64_t file = low + at;
    // Often it is the next one; where the pieces are few, most segments are passed over.
    if (++s >= layout.segments.size() || file < layout.segments[s].file || file >= layout.segments[s].file_end())
      s = layout.segment_at(layout.to_packed(file));
    const Segment& segment = layout.segments[s];
    const std::uint64_t end = std::min(high, segment.file_end() - at);
    copy(low, end, segment.packed + (file - segment.file) - layout.cuts[window]);
    low = end < high ? pieces.next(end) : high;
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

#include "plan/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir {

namespace {

using Entry = Footprint::Entry;

/// Gaps shorter than this stay in the buffer; longer ones are left out.
constexpr std::uint64_t gap_kept = 4096;

std::vector<Entry> merged(std::span<const Footprint> footprints) {
  std::vector<Entry> all;
  std::size_t total = 0;
  for (const Footprint& footprint : footprints) total += footprint.entries.size();
  all.reserve(total);
  std::vector<std::ptrdiff_t> ends{0};  // of what is sorted already
  for (const Footprint& footprint : footprints) {
    all.insert(all.end(), footprint.entries.begin(), footprint.entries.end());
    ends.push_back(static_cast<std::ptrdiff_t>(all.size()));
  }
  for (std::size_t step = 1; step + 1 < ends.size(); step *= 2)
    for (std::size_t i = 0; i + step + 1 < ends.size(); i += 2 * step)
      std::inplace_merge(all.begin() + ends[i], all.begin() + ends[i + step],
                         all.begin() + ends[std::min(i + 2 * step, ends.size() - 1)],
                         [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  return all;
}

/// Adds the entries' segments behind those that are there; a gap longer than `gap_kept` is between the two.
void add_segments(std::vector<Segment>& segments, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (segments.empty() || entry.offset > segments.back().file_end() + gap_kept) {
      const std::uint64_t packed = segments.empty() ? 0 : segments.back().packed_end();
      segments.push_back({entry.offset, packed, entry.span});
    } else if (entry.end() > segments.back().file_end()) {
      segments.back().span = entry.end() - segments.back().file;
    }
  }
}

/// File offsets that cut the declared bytes into `parts` equal shares, by a sweep over the entries' densities.
std::vector<std::uint64_t> equal_shares(const std::vector<Entry>& entries, std::size_t parts) {
  struct Event {
    std::uint64_t at;
    double density;
  };
  std::vector<Event> events;
  if (parts < 2) return {};
  double total = 0;
  for (const Entry& entry : entries) {
    const double density = static_cast<double>(entry.bytes) / static_cast<double>(entry.span);
    events.push_back({entry.offset, density});
    events.push_back({entry.end(), -density});
    total += static_cast<double>(entry.bytes);
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  std::vector<std::uint64_t> shares;
  double density = 0, sum = 0;
  for (std::size_t i = 0; i + 1 < events.size() && shares.size() + 1 < parts; ++i) {
    density += events[i].density;
    const double until = sum + density * static_cast<double>(events[i + 1].at - events[i].at);
    while (shares.size() + 1 < parts) {
      const double wanted = total * static_cast<double>(shares.size() + 1) / static_cast<double>(parts);
      if (wanted > until || density <= 0) break;
      shares.push_back(std::min(events[i + 1].at, events[i].at + static_cast<std::uint64_t>((wanted - sum) / density)));
    }
    sum = until;
  }
  return shares;
}

/// The aligned offset nearest to `packed` within its segment, or the segment's nearer edge.
std::uint64_t aligned(const Layout& layout, std::uint64_t packed) {
  const std::uint64_t alignment = layout.placement.alignment;
  const Segment& segment = layout.segments[layout.segment_at(packed)];
  const std::uint64_t file = segment.file + (packed - segment.packed);
  std::uint64_t cut = (file + alignment / 2) / alignment * alignment;
  cut = std::clamp(cut, segment.file, segment.file_end());
  return segment.packed + (cut - segment.file);
}

/// Where a window that may reach `most` ends: on an aligned offset when there is one behind `begin`.
std::uint64_t window_end(const Layout& layout, std::uint64_t begin, std::uint64_t most) {
  const Segment& segment = layout.segments[layout.segment_at(most - 1)];
  const std::uint64_t file = segment.file + (most - segment.packed);
  const std::uint64_t cut = file / layout.placement.alignment * layout.placement.alignment;
  if (cut < segment.file) return most;
  const std::uint64_t packed = segment.packed + (cut - segment.file);
  return packed > begin ? packed : most;
}

}  // namespace

std::size_t Layout::segment_at(std::uint64_t packed) const noexcept {
  const auto after = std::upper_bound(segments.begin(), segments.end(), packed,
                                      [](std::uint64_t p, const Segment& s) { return p < s.packed; });
  return static_cast<std::size_t>(after - segments.begin()) - 1;
}

std::uint64_t Layout::to_packed(std::uint64_t file) const noexcept {
  const auto after = std::upper_bound(segments.begin(), segments.end(), file,
                                      [](std::uint64_t f, const Segment& s) { return f < s.file; });
  const Segment& segment = *(after - 1);
  return segment.packed + std::min(file - segment.file, segment.span);
}

std::uint64_t Layout::to_file(std::uint64_t packed) const noexcept {
  const Segment& segment = segments[segment_at(packed)];
  return segment.file + (packed - segment.packed);
}

Extent Layout::window_file_range(std::size_t window) const noexcept {
  const std::uint64_t low = to_file(cuts[window]);
  return {low, to_file(cuts[window + 1] - 1) + 1 - low};
}

std::size_t Layout::window_at(std::uint64_t packed) const noexcept {
  return static_cast<std::size_t>(std::upper_bound(cuts.begin(), cuts.end(), packed) - cuts.begin()) - 1;
}

std::size_t Layout::domain_of(std::size_t window) const noexcept {
  const auto after = std::upper_bound(domains.begin(), domains.end(), window,
                                      [](std::size_t w, const Domain& d) { return w < d.first_window; });
  return static_cast<std::size_t>(after - domains.begin()) - 1;
}

std::uint64_t Layout::list_bytes() const noexcept {
  return segments.capacity() * sizeof(Segment) + cuts.capacity() * sizeof(std::uint64_t) +
         domains.capacity() * sizeof(Domain);
}

namespace {

/// All that is kept of a layout, in the order in which it is written. `Kept` is a Layout, constant or not.
template <class Kept, class Visit>
void each_field(Kept& layout, Visit&& visit) {
  visit(layout.direction);
  visit(layout.placement.mode);
  visit(layout.placement.aggregators);
  visit(layout.placement.buffer_size);
  visit(layout.placement.buffers);
  visit(layout.placement.alignment);
  visit(layout.placement.chunk);
  visit(layout.placement.remote);
  visit(layout.placement.why);
  visit(layout.placement.details);
  visit(layout.placement.banks);
  visit(layout.placement.predicted_s);
  visit(layout.files.files);
  visit(layout.files.group_of);
  visit(layout.files.holder_of);
  visit(layout.segments);
  visit(layout.cuts);
  visit(layout.domains);
  visit(layout.bytes);
  visit(layout.pieces);
  visit(layout.hash);
}

}  // namespace

void Layout::write(Writer& out) const {
  each_field(*this, [&](const auto& field) { out.put(field); });
}

Layout Layout::read(Reader& in) {
  Layout layout;
  each_field(layout, [&](auto& field) { in.get_to(field); });
  return layout;
}

namespace {

/// Divides what lies in `entries`, behind everything laid out before, among `aggregators`.
void add_domains(Layout& layout, const std::vector<Entry>& entries, std::span<const int> aggregators) {
  if (entries.empty()) return;
  if (layout.cuts.empty()) layout.cuts.push_back(0);
  add_segments(layout.segments, entries);

  std::vector<std::uint64_t> bounds{layout.cuts.back()};
  for (std::uint64_t share : equal_shares(entries, aggregators.size()))
    bounds.push_back(std::max(bounds.back(), aligned(layout, layout.to_packed(share))));
  bounds.push_back(layout.segments.back().packed_end());

  for (std::size_t d = 0; d + 1 < bounds.size(); ++d) {
    if (bounds[d] == bounds[d + 1]) continue;
    const auto first = static_cast<std::uint32_t>(layout.windows());
    while (layout.cuts.back() < bounds[d + 1]) {
      const std::uint64_t begin = layout.cuts.back();
      const std::uint64_t left = bounds[d + 1] - begin;
      const std::uint64_t most = layout.placement.buffer_size;
      layout.cuts.push_back(left <= most ? bounds[d + 1] : window_end(layout, begin, begin + most));
    }
    layout.domains.push_back({aggregators[d], first, static_cast<std::uint32_t>(layout.windows()) - first});
  }
}

}  // namespace

Layout make_layout(std::span<const Footprint> footprints, const Demand& demand, const Placement& placement,
                   const FileGroups& files) {
  Layout layout;
  layout.direction = demand.direction;
  layout.placement = placement;
  layout.files = files;
  layout.bytes = demand.bytes;
  layout.pieces = demand.pieces;
  if (placement.mode == Mode::direct) return layout;
  const std::vector<Entry> entries = merged(footprints);
  if (!files.divided()) {
    add_domains(layout, entries, placement.aggregators);
    return layout;
  }
  layout.placement.aggregators.clear();
  auto next = entries.begin();
  for (const FileGroups::Part& part : files.parts(placement.aggregators.size(), *demand.nodes)) {
    const auto first = next;
    while (next != entries.end() && files.file_at(next->offset) < part.end) ++next;
    add_domains(layout, {first, next}, part.aggregators);
    layout.placement.aggregators.insert(layout.placement.aggregators.end(), part.aggregators.begin(),
                                        part.aggregators.end());
  }
  layout.placement.why += fmt::format("; at least one aggregator for each {}, {} in all",
                                      files.holder_of.empty() ? "sub-file" : "node that holds data",
                                      layout.domains.size());
  return layout;
}

Demand demand_of(std::span<const Footprint> footprints, Direction direction, const NodeMap& nodes,
                 const StorageTraits& storage) {
  Demand demand;
  demand.direction = direction;
  demand.nodes = &nodes;
  demand.storage = storage;
  for (const Footprint& footprint : footprints) {
    demand.bytes += footprint.bytes;
    demand.pieces += footprint.pieces;
    demand.busiest_rank_bytes = std::max(demand.busiest_rank_bytes, footprint.bytes);
    demand.busiest_rank_pieces = std::max(demand.busiest_rank_pieces, footprint.pieces);
  }
  return demand;
}

std::size_t footprint_limit(int ranks) noexcept {
  return std::clamp<std::size_t>((std::size_t{1} << 20) / static_cast<std::size_t>(ranks), 64, 4096);
}

}  // namespace weir

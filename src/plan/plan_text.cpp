#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"
#include "plan/plan.hpp"

namespace weir {

namespace {

/// An offset in the file, or in its sub-file.
std::uint64_t shown(const Layout& layout, std::uint64_t offset) {
  return layout.files.shared() ? offset : layout.files.inside(offset);
}

std::string sub_file(const Layout& layout, std::uint64_t offset) {
  return layout.files.shared() ? std::string{} : fmt::format("sub-file {} ", layout.files.file_at(offset));
}

std::string ranks_of(const std::vector<int>& ranks) {
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end());
  if (ranks.size() == 1) return fmt::format("rank {}", *least);
  const bool row = static_cast<std::size_t>(*most - *least) + 1 == ranks.size();
  return row ? fmt::format("ranks {} to {}", *least, *most)
             : fmt::format("{} ranks between {} and {}", ranks.size(), *least, *most);
}

constexpr std::size_t most_shown = 8;

std::string explain_files(const Layout& layout, const NodeMap& nodes) {
  const FileGroups& files = layout.files;
  if (files.shared()) return {};
  std::string text = fmt::format("{} sub-file{}\n", files.files, files.files == 1 ? "" : "s");
  if (files.group_of.empty()) return text;
  const auto members = files.members(nodes);
  for (std::size_t f = 0; f < std::min(members.size(), most_shown); ++f)
    text += fmt::format("  sub-file {}: {}\n", f, ranks_of(members[f]));
  if (members.size() > most_shown) text += fmt::format("  and {} more sub-files\n", members.size() - most_shown);
  return text;
}

}  // namespace

std::string plan_text(const Layout& layout, const NodeMap& nodes) {
  std::string text = fmt::format("plan {:016x} {} {} ranks {} nodes {} bytes {} pieces {}\n", layout.hash,
                                 layout.direction == Direction::write ? "write" : "read",
                                 layout.placement.mode == Mode::direct ? "direct" : "aggregate", nodes.ranks(),
                                 nodes.nodes(), layout.bytes, layout.pieces);
  if (!layout.files.shared()) text += fmt::format("files {}\n", layout.files.files);
  for (std::size_t rank = 0; rank < layout.files.group_of.size(); ++rank)
    text += fmt::format("rank {} file {}\n", rank, layout.files.group_of[rank]);
  for (const Segment& segment : layout.segments)
    text += fmt::format("segment {}{} {}\n", sub_file(layout, segment.file), shown(layout, segment.file), segment.span);
  for (std::size_t d = 0; d < layout.domains.size(); ++d) {
    const Domain& domain = layout.domains[d];
    text += fmt::format("domain {} rank {} node {} buffers {} of {}\n", d, domain.aggregator,
                        nodes.node_of[domain.aggregator], layout.placement.buffers, layout.placement.buffer_size);
    for (std::uint32_t w = domain.first_window; w < domain.first_window + domain.windows; ++w) {
      const Extent range = layout.window_file_range(w);
      text += fmt::format("  window {} from {}{} to {}{}\n", w, sub_file(layout, range.offset),
                          shown(layout, range.offset), sub_file(layout, range.end() - 1),
                          shown(layout, range.end() - 1) + 1);
    }
  }
  return text;
}

std::string explain_plan(const Layout& layout, const NodeMap& nodes) {
  std::string text = fmt::format("{} {} in {} piece{} from {} rank{} on {} node{}\n",
                                 layout.direction == Direction::write ? "writes" : "reads", format_bytes(layout.bytes),
                                 layout.pieces, layout.pieces == 1 ? "" : "s", nodes.ranks(),
                                 nodes.ranks() == 1 ? "" : "s", nodes.nodes(), nodes.nodes() == 1 ? "" : "s");
  text += explain_files(layout, nodes);
  text += fmt::format("{}\n{}", layout.placement.why, layout.placement.details);
  for (std::size_t d = 0; d < std::min(layout.domains.size(), most_shown); ++d) {
    const Domain& domain = layout.domains[d];
    const std::uint64_t low = layout.cuts[domain.first_window];
    const std::uint64_t high = layout.cuts[domain.first_window + domain.windows];
    const std::uint64_t first = layout.to_file(low), last = layout.to_file(high - 1);
    text += fmt::format("  rank {} (node {}): {}bytes {} to {}{}, {} in {} round{}\n", domain.aggregator,
                        nodes.node_of[domain.aggregator], sub_file(layout, first), shown(layout, first),
                        layout.direction == Direction::read ? sub_file(layout, last) : std::string{},
                        shown(layout, last) + 1, format_bytes(high - low), domain.windows,
                        domain.windows == 1 ? "" : "s");
  }
  if (layout.domains.size() > most_shown)
    text += fmt::format("  and {} more aggregators\n", layout.domains.size() - most_shown);
  return text;
}

}  // namespace weir

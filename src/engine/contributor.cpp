#include "engine/contributor.hpp"

#include <algorithm>
#include <cstring>

namespace weir {

Contributor::Contributor(Pass& pass) : pass_{pass} {
  const Layout& layout = pass.layout();
  const NodeMap& nodes = pass.team.nodes();
  const auto& edges = pass.plan.route.edges;
  for (std::uint32_t e = 0; e < edges.size();) {
    const auto d = static_cast<std::uint32_t>(layout.domain_of(edges[e].window));
    Lane lane;
    lane.domain = &layout.domains[d];
    lane.first_edge = e;
    while (e < edges.size() && edges[e].window < lane.domain->first_window + lane.domain->windows) ++e;
    lane.end_edge = e;
    lane.remote = nodes.node_of[lane.domain->aggregator] != pass.team.node();
    if (lane.remote) {
      std::uint64_t item = 0;
      std::uint32_t own = lane.first_edge;
      for (const Edge& edge : pass.plan.node->route.edges_of(*lane.domain)) {
        if (own == lane.end_edge) break;
        if (edge.window == edges[own].window) {
          lane.first_item.push_back(item);
          ++own;
        }
        item += chunks_of(edge, layout.placement.chunk);
      }
    }
    lanes_.push_back(std::move(lane));
  }
  copied_.resize(pass.plan.route.transfers.size());
  reset();
}

void Contributor::attach(const Arena& arena) noexcept {
  const Layout& layout = pass_.layout();
  for (Lane& lane : lanes_) {
    const auto d = static_cast<std::uint32_t>(lane.domain - layout.domains.data());
    lane.channel = lane.remote ? arena.relay_channel(layout, relay_rank(pass_.team.nodes(), pass_.team.node(), d), d)
                               : arena.aggregator_channel(layout, lane.domain->aggregator);
  }
}

void Contributor::reset() noexcept {
  given_up_ = false;
  open_lanes_ = lanes_.size();
  std::fill(copied_.begin(), copied_.end(), 0);
  for (Lane& lane : lanes_) {
    lane.edge = lane.first_edge;
    lane.node_edge = nullptr;
    lane.chunk = 0;
  }
}

bool Contributor::progress(const std::vector<std::byte*>& memory, bool all_ready) noexcept {
  all_ready_ = all_ready;
  bool moved = false;
  for (Lane& lane : lanes_)
    while (lane.edge < lane.end_edge && step(lane, memory)) {
      moved = true;
      if (lane.edge == lane.end_edge) --open_lanes_;
    }
  return moved;
}

bool Contributor::step(Lane& lane, const std::vector<std::byte*>& memory) noexcept {
  const Edge& edge = pass_.plan.route.edges[lane.edge];
  return lane.remote ? remote_chunk(lane, edge, memory) : local_edge(lane, edge, memory);
}

void Contributor::arrive(const Lane& lane, std::uint64_t item) noexcept {
  if (lane.channel.arrive(item)) pass_.team.doorbell(lane.channel.owner).ring();
}

bool Contributor::local_edge(Lane& lane, const Edge& edge, const std::vector<std::byte*>& memory) noexcept {
  const std::uint64_t item = edge.window - lane.domain->first_window;
  const bool write = pass_.layout().direction == Direction::write;
  if (!all_ready_ && !(write ? lane.channel.open(item) : lane.channel.ready(item))) return false;
  std::byte* buffer = lane.channel.buffer(item);
  const bool usable = write || lane.channel.slot(item).poisoned.load() == 0;
  const double start = now();
  bool all = true;
  for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t) {
    if (copied_[t]) continue;
    const Transfer& transfer = pass_.plan.route.transfers[t];
    std::byte* data = memory[transfer.variable];
    if (!data) {
      all = all && given_up_;
      continue;
    }
    copied_[t] = 1;
    if (!usable) continue;
    copy(edge, transfer, data, buffer);
    pass_.report.bytes += transfer.bytes;
  }
  pass_.report.copy_s += now() - start;
  if (!all) return false;
  if (given_up_ && write) lane.channel.slot(item).poisoned.store(1);
  arrive(lane, item);
  ++lane.edge;
  return true;
}

void Contributor::copy(const Edge& edge, const Transfer& transfer, std::byte* data, std::byte* buffer) const noexcept {
  const bool write = pass_.layout().direction == Direction::write;
  if (transfer.in_one_stretch()) {
    std::byte* there = buffer + transfer.place;
    data += transfer.memory;
    std::memcpy(write ? there : data, write ? data : there, transfer.bytes);
    return;
  }
  const auto& declaration = pass_.plan.declaration;
  const PieceList& pieces = declaration.pieces(transfer.variable);
  const std::uint64_t at = declaration.variables[transfer.variable].at;
  if (write) copy_in(pass_.layout(), edge.window, pieces, at, data, buffer);
  else copy_out(pass_.layout(), edge.window, pieces, at, buffer, data);
}

bool Contributor::remote_chunk(Lane& lane, const Edge& edge, const std::vector<std::byte*>& memory) noexcept {
  if (!given_up_)
    for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t)
      if (!memory[pass_.plan.route.transfers[t].variable]) return false;
  if (!lane.node_edge) {
    lane.node_edge = pass_.plan.node->route.find(edge.window);
    lane.item = lane.first_item[lane.edge - lane.first_edge];
    lane.chunk = 0;
  }
  const bool write = pass_.layout().direction == Direction::write;
  if (!(write ? lane.channel.open(lane.item) : lane.channel.ready(lane.item))) return false;
  SlotControl& slot = lane.channel.slot(lane.item);
  if (given_up_ && write) slot.poisoned.store(1);
  else if (!given_up_ && (write || slot.poisoned.load() == 0)) copy_chunk(lane, edge, memory);
  arrive(lane, lane.item);
  ++lane.item;
  if (++lane.chunk == chunks_of(*lane.node_edge, pass_.layout().placement.chunk)) {
    lane.node_edge = nullptr;
    ++lane.edge;
  }
  return true;
}

void Contributor::copy_chunk(const Lane& lane, const Edge& edge, const std::vector<std::byte*>& memory) noexcept {
  const double start = now();
  const Layout& layout = pass_.layout();
  const NodePart& node = *pass_.plan.node;
  const std::uint64_t begin = lane.chunk * layout.placement.chunk;
  const std::uint64_t end = std::min(begin + layout.placement.chunk, lane.node_edge->bytes);
  std::byte* buffer = lane.channel.buffer(lane.item);
  std::uint32_t u = lane.node_edge->first_transfer;
  for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t) {
    const std::uint32_t v = pass_.plan.route.transfers[t].variable;
    while (node.route.transfers[u].variable != v) ++u;
    const Transfer& together = node.route.transfers[u];
    const std::uint64_t from = std::max(begin, together.payload);
    const std::uint64_t to = std::min(end, together.payload + together.bytes);
    if (from >= to) continue;
    const std::uint64_t low = node.packed[u] + (from - together.payload), high = low + (to - from);
    const PieceList& mine = node.mine[pass_.plan.declaration.variables[v].shape];
    if (layout.direction == Direction::write) mine.scatter(low, high, memory[v], buffer + (from - begin));
    else mine.gather(low, high, buffer + (from - begin), memory[v]);
    pass_.report.bytes += mine.bytes_before(high) - mine.bytes_before(low);
  }
  pass_.report.copy_s += now() - start;
}

}  // namespace weir

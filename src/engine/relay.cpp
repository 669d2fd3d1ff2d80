#include "engine/relay.hpp"

#include <algorithm>
#include <cstring>

namespace weir {

Relay::Relay(Pass& pass, const RelayPart& part) : pass_{pass}, part_{part} {
  const Domain& domain = pass.layout().domains[part.domain];
  edges_ = pass.plan.node->route.edges_of(domain);
  for (const Edge& edge : edges_) {
    first_item_.push_back(items_);
    items_ += chunks_of(edge, pass.layout().placement.chunk);
  }
  first_item_.push_back(items_);
}

void Relay::reset() noexcept { started_ = moved_ = retired_ = 0; }

void Relay::clear() noexcept {
  for (std::uint32_t s = 0; s < channel_.count; ++s) channel_.control[s].clear();
}

Relay::Chunk Relay::chunk(std::uint64_t item) const noexcept {
  const auto after = std::upper_bound(first_item_.begin(), first_item_.end() - 1, item);
  const auto place = static_cast<std::size_t>(after - first_item_.begin()) - 1;
  const std::uint64_t size = pass_.layout().placement.chunk;
  return {place, std::min(size, edges_[place].bytes - (item - first_item_[place]) * size)};
}

void Relay::start(std::uint64_t item) noexcept {
  Parcel& parcel = parcels_[item % parcels_.size()];
  parcel = {pass_.layout().domains[part_.domain].aggregator, static_cast<int>(part_.domain), channel_.buffer(item),
            static_cast<int>(chunk(item).size + chunk_trailer)};
  ++started_;
}

bool Relay::progress() noexcept {
  return pass_.layout().direction == Direction::write ? progress_write() : progress_read();
}

bool Relay::progress_write() noexcept {
  bool moved = false;
  while (started_ < items_ && started_ < retired_ + channel_.count) {
    const Chunk next = chunk(started_);
    if (!channel_.all_arrived(started_, part_.arrivals[next.edge])) break;
    const ChunkTrailer bad = channel_.slot(started_).poisoned.load();
    std::memcpy(channel_.buffer(started_) + next.size, &bad, sizeof bad);
    const std::uint64_t item = started_;
    start(item);
    ++pass_.report.messages;
    pass_.link->send(parcels_[item % parcels_.size()]);
    moved = true;
  }
  while (moved_ < started_ && pass_.link->done(parcels_[moved_ % parcels_.size()])) {
    channel_.release(moved_++);
    ++retired_;
    pass_.ring(part_.local_ranks);
    moved = true;
  }
  return moved;
}

bool Relay::progress_read() noexcept {
  bool moved = false;
  while (started_ < items_ && started_ < retired_ + channel_.count) {
    const std::uint64_t item = started_;
    start(item);
    pass_.link->receive(parcels_[item % parcels_.size()]);
    moved = true;
  }
  while (moved_ < started_ && pass_.link->done(parcels_[moved_ % parcels_.size()])) {
    ChunkTrailer bad = 0;
    std::memcpy(&bad, channel_.buffer(moved_) + chunk(moved_).size, sizeof bad);
    channel_.slot(moved_).poisoned.store(bad ? 1 : 0);
    channel_.slot(moved_).filled.fetch_add(1);
    ++moved_;
    pass_.ring(part_.local_ranks);
    moved = true;
  }
  while (retired_ < moved_ && channel_.all_arrived(retired_, part_.arrivals[chunk(retired_).edge])) {
    channel_.release(retired_++);
    moved = true;
  }
  return moved;
}

}  // namespace weir

#include "engine/aggregator.hpp"

#include <algorithm>
#include <cstring>

#include "plan/payload.hpp"

namespace weir {

Aggregator::Aggregator(Pass& pass)
    : pass_{pass},
      part_{*pass.plan.domain},
      domain_{pass.layout().domains[part_.domain]},
      write_{pass.layout().direction == Direction::write},
      slots_(pass.layout().placement.buffers),
      nodes_in_(domain_.windows, 0),
      deliveries_(part_.inboxes.size()) {
  for (const Inbox& inbox : part_.inboxes)
    for (const Edge& edge : inbox.route.edges) ++nodes_in_[edge.window - domain_.first_window];
  landings_.resize(ArenaShape::of(pass.layout(), pass.team.nodes(), pass.team.rank()).landings);
  landing_taken_.resize(landings_.size());
  reset();
}

void Aggregator::attach(const Arena& arena) noexcept {
  channel_ = arena.aggregator_channel(pass_.layout(), pass_.team.rank());
  for (std::uint32_t i = 0; i < landings_.size(); ++i) landings_[i] = arena.landing(pass_.layout(), i);
}

void Aggregator::reset(WindowCarrier* carrier) noexcept {
  carrier_ = carrier;
  announced_ = !write_ || !pass_.storage.fresh();
  open_slots_ = 0;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    slots_[s].phase = Phase::finished;
    if (s < domain_.windows) {
      ++open_slots_;
      begin(slots_[s], s);
    }
  }
  for (std::size_t i = 0; i < deliveries_.size(); ++i) {
    Delivery& delivery = deliveries_[i];
    delivery.edge = 0;
    delivery.end = part_.inboxes[i].route.edges.size();
    delivery.chunk = 0;
    delivery.landing = -1;
  }
}

void Aggregator::clear() noexcept {
  for (std::uint32_t s = channel_.count; s-- > 0;) channel_.control[s].clear();  // the first says that all are
}

bool Aggregator::loaded() const noexcept {
  return std::ranges::all_of(slots_, [](const Slot& slot) { return slot.phase >= Phase::serving; });
}

void Aggregator::begin(Slot& slot, std::uint64_t window) noexcept {
  slot.window = window;
  slot.phase = write_ ? Phase::filling : Phase::loading;
  slot.next_extent = part_.first_extent[window];
  slot.nodes_left = nodes_in_[window];
  slot.bytes = 0;
  slot.in_place.reset();
  slot.parts = {};
  slot.extent_done = 0;
  slot.bad = false;
  slot.start = 0;
}

bool Aggregator::all_here(const Slot& slot) const noexcept {
  return slot.nodes_left == 0 && channel_.all_arrived(slot.window, part_.arrivals[slot.window]);
}

Aggregator::Slot* Aggregator::slot_of(std::uint64_t window) noexcept {
  Slot& slot = slots_[window % slots_.size()];
  return slot.window == window && slot.phase != Phase::finished ? &slot : nullptr;
}

void Aggregator::announce_extents(Storage& storage) noexcept {
  announced_ = true;
  for (std::size_t i = 0; i < part_.extents.size();) {
    Extent whole = part_.extents[i];
    while (++i < part_.extents.size() && part_.extents[i].offset == whole.end()) whole.length += part_.extents[i].length;
    storage.expect(whole.offset + pass_.shift, whole.length);
  }
}

bool Aggregator::progress() noexcept {
  if (!announced_)
    if (Storage* storage = pass_.failed() ? nullptr : pass_.storage.get()) announce_extents(*storage);
  bool moved = deliveries_.empty() || carrier_ ? false : exchange();
  if (ios_in_flight_ > 0) collect();
  for (Slot& slot : slots_)
    while (slot.phase != Phase::finished && advance(slot)) moved = true;
  return moved;
}

bool Aggregator::advance(Slot& slot) noexcept {
  if (carrier_ && !slot.in_place) choose_memory(slot);
  switch (slot.phase) {
    case Phase::filling:
      if (carrier_ ? !carry(slot) : !all_here(slot)) return false;
      slot.bad = pass_.failed() || (carrier_ ? carrier_->lost() : channel_.slot(slot.window).poisoned.load() != 0);
      slot.phase = Phase::storing;
      return true;
    case Phase::storing:
    case Phase::loading:
      return move_extents(slot);
    case Phase::serving:
      if (carrier_ && !slot.bad ? !carry(slot) : !carrier_ && !all_here(slot)) return false;
      next_window(slot);
      return true;
    case Phase::finished:
      break;
  }
  return false;
}

std::uint64_t Aggregator::buffer_offset(std::uint64_t window, std::uint64_t file) const noexcept {
  return pass_.layout().to_packed(file) - pass_.layout().cuts[domain_.first_window + window];
}

std::uint32_t Aggregator::arrivals_elsewhere(const Slot& slot) const noexcept {
  std::uint32_t sum = 0;
  for (const Slot& other : slots_)
    if (&other != &slot && other.phase != Phase::finished) sum += channel_.slot(other.window).arrived.load() + other.nodes_left;
  return sum;
}

bool Aggregator::move_extents(Slot& slot) noexcept {
  Storage* storage = slot.bad || pass_.failed() ? nullptr : pass_.storage.get();
  if (!storage && !slot.bad) {
    slot.bad = true;
    if (!pass_.failed()) pass_.fail(pass_.storage.error());
  }
  if (slot.start == 0) {
    slot.start = now();
    slot.others_before = arrivals_elsewhere(slot);
  }
  const std::uint32_t end = part_.first_extent[slot.window + 1];
  if (slot.bad) slot.next_extent = end;
  while (slot.next_extent < end && ios_in_flight_ < most_ios) {
    Transferred& entry = *std::find_if(ios_.begin(), ios_.end(), [](const Transferred& t) { return !t.slot; });
    entry.io = next_io(slot);
    entry.slot = &slot;
    ++slot.ios;
    ++ios_in_flight_;
    ++pass_.report.storage_calls;
    storage->submit(entry.io);
    if (entry.io.finished) collect();
  }
  if (slot.next_extent < end || slot.ios > 0) return false;
  pass_.report.storage_s += now() - slot.start;
  if (write_) finish_storing(slot);
  else finish_loading(slot);
  return true;
}

void Aggregator::choose_memory(Slot& slot) noexcept {
  Storage* storage = pass_.failed() ? nullptr : pass_.storage.get();
  if (storage && storage->takes_parts()) slot.parts = carrier_->parts(slot.window);
  std::uint64_t bytes = 0;
  for (std::uint32_t e = part_.first_extent[slot.window]; e < part_.first_extent[slot.window + 1]; ++e)
    bytes += part_.extents[e].length;
  for (const iovec& part : slot.parts) bytes -= part.iov_len;
  slot.in_place = !slot.parts.empty() && bytes == 0;
}

Io Aggregator::next_io(Slot& slot) noexcept {
  const Extent& extent = part_.extents[slot.next_extent];
  Io io{write_ ? Io::Kind::write : Io::Kind::read, nullptr, extent.offset + slot.extent_done + pass_.shift, 0};
  if (!slot.in_place.value_or(false)) {
    io.data = channel_.buffer(slot.window) + buffer_offset(slot.window, extent.offset);
    io.length = extent.length;
  } else {
    std::size_t count = 0;
    while (count < Io::most_parts && slot.extent_done + io.length < extent.length)
      io.length += slot.parts[count++].iov_len;
    io.parts = slot.parts.first(count);
    slot.parts = slot.parts.subspan(count);
    slot.extent_done += io.length;
  }
  if (slot.extent_done > 0 && slot.extent_done < extent.length) return io;
  slot.extent_done = 0;
  ++slot.next_extent;
  return io;
}

void Aggregator::collect() noexcept {
  if (Storage* storage = pass_.storage.get()) storage->poll();
  for (Transferred& entry : ios_) {
    if (!entry.slot || !entry.io.finished) continue;
    entry.slot->bytes += entry.io.done;
    if (entry.io.error != 0 || entry.io.done < entry.io.length) {
      entry.slot->bad = true;
      pass_.fail_io(entry.io);
    }
    --entry.slot->ios;
    --ios_in_flight_;
    entry.slot = nullptr;
  }
}

void Aggregator::finish_storing(Slot& slot) noexcept {
  pass_.report.stored_bytes += slot.bytes;
  pass_.outcome.bytes += slot.bytes;
  if (arrivals_elsewhere(slot) != slot.others_before) pass_.report.stored_while_aggregating += slot.bytes;
  if (carrier_) carrier_->stored();
  next_window(slot);
}

void Aggregator::finish_loading(Slot& slot) noexcept {
  pass_.report.stored_bytes += slot.bytes;
  if (arrivals_elsewhere(slot) != slot.others_before) pass_.report.stored_while_aggregating += slot.bytes;
  slot.phase = Phase::serving;
  if (carrier_) return;
  SlotControl& control = channel_.slot(slot.window);
  control.poisoned.store(slot.bad ? 1 : 0);
  control.filled.fetch_add(1);
  pass_.ring(part_.local_ranks);
}

void Aggregator::next_window(Slot& slot) noexcept {
  const std::uint64_t next = slot.window + slots_.size();
  if (!carrier_) channel_.release(slot.window);
  if (next < domain_.windows) {
    begin(slot, next);
    if (write_ && !carrier_) pass_.ring(part_.local_ranks);
  } else {
    slot.phase = Phase::finished;
    --open_slots_;
  }
}

bool Aggregator::exchange() noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < deliveries_.size(); ++i) {
    Delivery& delivery = deliveries_[i];
    if (delivery.landing >= 0 && pass_.link->done(delivery.parcel)) {
      finish_delivery(i);
      moved = true;
    }
    if (delivery.landing < 0 && delivery.edge < delivery.end && start_delivery(i)) moved = true;
  }
  return moved;
}

bool Aggregator::start_delivery(std::size_t inbox) noexcept {
  Delivery& delivery = deliveries_[inbox];
  const Edge& edge = part_.inboxes[inbox].route.edges[delivery.edge];
  Slot* slot = slot_of(edge.window - domain_.first_window);
  if (!slot || slot->phase != (write_ ? Phase::filling : Phase::serving)) return false;
  const auto free = std::find(landing_taken_.begin(), landing_taken_.end(), 0);
  if (free == landing_taken_.end()) return false;
  *free = 1;
  delivery.landing = static_cast<int>(free - landing_taken_.begin());
  const std::uint64_t chunk = pass_.layout().placement.chunk;
  const std::uint64_t size = std::min(chunk, edge.bytes - delivery.chunk * chunk);
  std::byte* landing = landings_[delivery.landing];
  delivery.parcel = {part_.inboxes[inbox].relay, static_cast<int>(part_.domain), landing,
                     static_cast<int>(size + chunk_trailer)};
  ++parcels_;
  if (write_) {
    pass_.link->receive(delivery.parcel);
  } else {
    const ChunkTrailer bad = slot->bad ? 1 : 0;
    if (!bad) copy_chunk(part_.inboxes[inbox], edge, delivery.chunk, landing, channel_.buffer(slot->window));
    std::memcpy(landing + size, &bad, sizeof bad);
    ++pass_.report.messages;
    pass_.link->send(delivery.parcel);
  }
  return true;
}

void Aggregator::finish_delivery(std::size_t inbox) noexcept {
  Delivery& delivery = deliveries_[inbox];
  const Edge& edge = part_.inboxes[inbox].route.edges[delivery.edge];
  const std::uint64_t window = edge.window - domain_.first_window;
  std::byte* landing = landings_[delivery.landing];
  if (write_) {
    ChunkTrailer bad = 0;
    std::memcpy(&bad, landing + delivery.parcel.size - chunk_trailer, sizeof bad);
    if (bad) channel_.slot(window).poisoned.store(1);
    else copy_chunk(part_.inboxes[inbox], edge, delivery.chunk, landing, channel_.buffer(window));
  }
  landing_taken_[delivery.landing] = 0;
  delivery.landing = -1;
  --parcels_;
  if (++delivery.chunk == chunks_of(edge, pass_.layout().placement.chunk)) {
    delivery.chunk = 0;
    ++delivery.edge;
    --slot_of(window)->nodes_left;
  }
}

void Aggregator::copy_chunk(const Inbox& inbox, const Edge& edge, std::uint64_t chunk, std::byte* landing,
                            std::byte* buffer) noexcept {
  const Layout& layout = pass_.layout();
  const std::uint64_t begin = chunk * layout.placement.chunk;
  const std::uint64_t end = std::min(begin + layout.placement.chunk, edge.bytes);
  if (write_) payload_in(layout, inbox, edge, {begin, end}, landing, buffer);
  else payload_out(layout, inbox, edge, {begin, end}, buffer, landing);
}

}  // namespace weir

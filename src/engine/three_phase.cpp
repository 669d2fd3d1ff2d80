#include "engine/three_phase.hpp"

#include <algorithm>
#include <ctime>

#include "core/errors.hpp"
#include "plan/payload.hpp"

namespace weir {
namespace {

Status no_memory() noexcept { return problem(Code::no_memory, "cannot use remote memory: out of memory here"); }

/// Bytes of a piece in the mean.
class MeanPiece {
 public:
  void add(const RankDeclaration& declaration) noexcept {
    for (std::size_t v = 0; v < declaration.variables.size(); ++v) {
      bytes_ += declaration.pieces(v).bytes();
      pieces_ += declaration.pieces(v).pieces();
    }
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return pieces_ == 0 ? 0 : bytes_ / pieces_; }

 private:
  std::uint64_t bytes_ = 0, pieces_ = 0;
};

}  // namespace

ThreePhase::ThreePhase(Pass& pass, RemoteBank& bank) : pass_{pass}, part_{*pass.plan.remote}, bank_{bank} {
  if (bank.synchronous)
    for (const Domain& domain : pass.layout().domains) rounds_ = std::max(rounds_, domain.windows);
  const auto& edges = part_.dump.route.edges;
  for (std::uint32_t e = 0; e < edges.size(); ++e) order_.push_back(e);
  if (rounds_ > 1)
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t e) { return round_of(edges[e].window); });
  MeanPiece own, collected;
  own.add(pass.plan.declaration);
  for (const Source& source : part_.sources) collected.add(source.inbox.pieces);
  own_piece_ = own.bytes();
  piece_ = collected.bytes();
}

ThreePhase::~ThreePhase() {
  if (parcels_ > 0 || pieces_under_way_) (void)servers().flush();
}

void ThreePhase::reset() noexcept {
  loss_ = {};
  connection_ = bank_.connections;
  round_ = 0;
  next_ = 0;
  at_ = 0;
  parcels_ = 0;
  pieces_under_way_ = false;
  carrying_ = ~std::uint64_t{0};
  carried_ = 0;
  in_place_ = 0;
  awaits_room_ = false;
  flushed_ = false;
  in_background_ = false;
}

void ThreePhase::carry_in_background() noexcept {
  lose(attempt("use remote memory", [&]() -> Status {
    auto& connection = dump_->background.connection;
    if (!connection) {
      auto made = connect_remote_memory(bank_.options);
      if (!made) return made.status();
      connection = std::move(*made);
    }
    in_background_ = true;
    return {};
  }));
}

Status ThreePhase::failure() const noexcept {
  if (!in_background_ && (connection_ != bank_.connections || is_stale()))
    return problem(Code::io, "cannot use remote memory: the connection to it was lost and made anew since",
                   "declare the step again");
  return servers().failure();
}

std::uint32_t ThreePhase::round_of(std::uint32_t window) const noexcept {
  if (rounds_ == 1) return 0;
  return window - pass_.layout().domains[pass_.layout().domain_of(window)].first_window;
}

bool ThreePhase::next_round() noexcept {
  flushed_ = false;
  return ++round_ < rounds_;
}

std::uint32_t ThreePhase::windows_of_round() const noexcept {
  const std::uint32_t windows = pass_.layout().domains[pass_.plan.domain->domain].windows;
  return rounds_ == 1 ? windows : std::min(windows, round_ + 1);
}

bool ThreePhase::own_done() const noexcept {
  if (parcels_ > 0 || pieces_under_way_) return false;
  if (lost() || pass_.failed()) return true;
  const auto& edges = part_.dump.route.edges;
  return next_ == order_.size() || round_of(edges[order_[next_]].window) > round_;
}

bool ThreePhase::carried_all() const noexcept {
  return !pass_.plan.domain || lost() || pass_.failed() || carried_ >= windows_of_round();
}

bool ThreePhase::prepare_own() noexcept {
  const std::uint64_t bytes = part_.places.back();
  if (!dump_) lose(no_memory());
  if (lost() || bytes == 0) return !lost();
  lose(failure());
  if (lost() || dump_->own) return !lost();
  const Status status = attempt("use remote memory", [&]() -> Status {
    RegionName name = dump_->name;
    name.rank = static_cast<std::uint64_t>(pass_.team.rank());
    auto region = servers().allocate(name, bytes);
    if (region) dump_->own = std::move(*region);
    return region.status();
  });
  awaits_room_ = status.code() == Code::no_memory && may_ask_again(bytes);
  if (!awaits_room_) lose(status);
  return dump_->own != nullptr;
}

bool ThreePhase::may_ask_again(std::uint64_t bytes) noexcept {
  constexpr timespec between{0, 1'000'000};
  if (!awaits_room_) {
    room_by_ = Deadline::in(bank_.wait_for_room_s);
    if (bank_.wait_for_room_s == 0) return false;
    Result<std::uint64_t> capacity{std::uint64_t{0}};
    (void)attempt("use remote memory", [&] { return capacity = servers().capacity(), Status{}; });
    if (!capacity || *capacity < bytes) return false;  // it will never fit
  }
  if (room_by_.is_over()) return false;
  ::nanosleep(&between, nullptr);  // so that those who have it get on
  return true;
}

bool ThreePhase::need_landings() noexcept {
  if (landings_.empty())
    lose(attempt("use remote memory", [&]() -> Status { return landings_.resize(most_parcels * chunk), Status{}; }));
  return !lost();
}

void ThreePhase::copy_own(const Edge& edge, Range part, const std::vector<std::byte*>& memory,
                          std::byte* packed) noexcept {
  const NodePart& dump = part_.dump;
  const double start = now();
  for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t) {
    const Transfer& transfer = dump.route.transfers[t];
    const std::uint64_t from = std::max(part.low, transfer.payload);
    const std::uint64_t to = std::min(part.high, transfer.payload + transfer.bytes);
    if (from >= to) continue;
    const std::uint64_t low = dump.packed[t] + (from - transfer.payload);
    const PieceList& mine = dump.mine[pass_.plan.declaration.variables[transfer.variable].shape];
    std::byte* at = packed + (from - part.low);
    if (writes()) mine.scatter(low, low + (to - from), memory[transfer.variable], at);
    else mine.gather(low, low + (to - from), at, memory[transfer.variable]);
  }
  pass_.report.bytes += part.high - part.low;
  pass_.report.remote_bytes += part.high - part.low;
  pass_.report.copy_s += now() - start;
}

template <class Empty>
bool ThreePhase::settle(Empty&& empty) noexcept {
  if (parcels_ == 0 && !pieces_under_way_) return true;
  if (servers().progress() > 0) return servers().doze(), false;
  lose(failure());
  if (lost())
    (void)servers().flush();
  else
    for (std::size_t p = 0; p < parcels_; ++p) empty(under_way_[p], landing(p));
  parcels_ = 0;
  pieces_under_way_ = false;
  return true;
}

bool ThreePhase::settle_own(const std::vector<std::byte*>& memory) noexcept {
  return settle([&](const Parcel& parcel, std::byte* packed) {
    if (!writes()) copy_own(*parcel.edge, parcel.part, memory, packed);
  });
}

bool ThreePhase::settle_window(std::byte* buffer) noexcept {
  return settle([&](const Parcel& parcel, std::byte* packed) {
    if (writes()) payload_in(pass_.layout(), *parcel.inbox, *parcel.edge, parcel.part, packed, buffer);
  });
}

bool ThreePhase::send_own(const Edge& edge, const std::vector<std::byte*>& memory) noexcept {
  const std::uint64_t place = part_.places[&edge - part_.dump.route.edges.data()];
  for (; at_ < edge.bytes && !lost();) {
    if (parcels_ == most_parcels && !settle_own(memory)) return false;
    const Range part{at_, std::min(at_ + chunk, edge.bytes)};
    copy_own(edge, part, memory, landing(parcels_));
    lose(dump_->own->put(place + part.low, landing(parcels_), part.high - part.low));
    ++parcels_;
    at_ = part.high;
  }
  return true;
}

bool ThreePhase::receive_own(const Edge& edge, const std::vector<std::byte*>& memory) noexcept {
  const std::uint64_t place = part_.places[&edge - part_.dump.route.edges.data()];
  for (; at_ < edge.bytes && !lost();) {
    if (parcels_ == most_parcels && !settle_own(memory)) return false;
    const Range part{at_, std::min(at_ + chunk, edge.bytes)};
    under_way_[parcels_] = {nullptr, &edge, part};
    lose(dump_->own->get(place + part.low, landing(parcels_), part.high - part.low));
    ++parcels_;
    at_ = part.high;
  }
  return true;
}

void ThreePhase::move_pieces(const Edge& edge, const std::vector<std::byte*>& memory) noexcept {
  const Route& route = part_.dump.route;
  const RankDeclaration& declaration = pass_.plan.declaration;
  std::uint64_t place = part_.places[&edge - route.edges.data()];
  for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t) {
    const std::uint32_t v = route.transfers[t].variable;
    const Range range = window_range(pass_.layout(), edge.window, declaration.variables[v].at);
    declaration.pieces(v).for_each(range.low, range.high, [&](std::uint64_t, std::uint64_t length, std::uint64_t at) {
      if (lost()) return;
      std::byte* const data = memory[v] + at;
      lose(writes() ? dump_->own->put(place, data, length) : dump_->own->get(place, data, length));
      if (bank_.synchronous)
        lose(servers().flush());
      else
        pieces_under_way_ = true;
      place += length;
    });
  }
  pass_.report.bytes += edge.bytes;
  pass_.report.remote_bytes += edge.bytes;
}

bool ThreePhase::move_own(const std::vector<std::byte*>& memory) noexcept {
  const auto& edges = part_.dump.route.edges;
  bool moved = false, ready = false;
  while (!pass_.failed() && next_ < order_.size()) {
    const Edge& edge = edges[order_[next_]];
    if (round_of(edge.window) > round_) break;
    for (std::uint32_t t = edge.first_transfer; t < edge.first_transfer + edge.transfers; ++t)
      if (!memory[part_.dump.route.transfers[t].variable]) return moved;
    if (!ready && !(ready = prepare_own())) break;
    if (std::byte* mapped = dump_->own->mapped())
      copy_own(edge, {0, edge.bytes}, memory, mapped + part_.places[order_[next_]]);
    else if (is_crowded())
      break;
    else if (bank_.synchronous || own_piece_ >= servers().long_piece())
      move_pieces(edge, memory);
    else if (!need_landings() || !(writes() ? send_own(edge, memory) : receive_own(edge, memory)))
      break;
    at_ = 0;
    ++next_;
    moved = true;
  }
  const bool was_under_way = parcels_ > 0 || pieces_under_way_;
  if (settle_own(memory) && was_under_way) moved = true;  // there may be more to do, of which nobody would tell
  if (!flushed_ && own_done() && !lost() && dump_ && dump_->own) {
    flushed_ = true;
    lose(writes() ? servers().flush() : failure());  // what was read was still lent
  }
  return moved;
}

RemoteRegion* ThreePhase::source_region(std::size_t source) noexcept {
  auto& regions = (in_background_ ? dump_->background : dump_->sources).regions;
  const int rank = part_.sources[source].rank;
  if (rank == pass_.team.rank() && !in_background_) return dump_->own.get();
  lose(attempt("use remote memory", [&]() -> Status {
    regions.resize(part_.sources.size());
    if (regions[source]) return {};
    RegionName name = dump_->name;
    name.rank = static_cast<std::uint64_t>(rank);
    auto region = servers().attach(name);
    if (region) regions[source] = std::move(*region);
    return region.status();
  }));
  return lost() ? nullptr : regions[source].get();
}

void ThreePhase::carry_pieces(const Source& source, RemoteRegion& region, const Edge& edge,
                              std::byte* buffer) noexcept {
  const Layout& layout = pass_.layout();
  const std::uint64_t place = source.places[static_cast<std::size_t>(&edge - source.inbox.route.edges.data())];
  for_each_payload_piece(layout, source.inbox, edge, [&](std::uint64_t offset, std::uint64_t length, std::uint64_t at) {
    if (lost()) return;
    std::byte* const data = buffer + (layout.to_packed(offset) - layout.cuts[edge.window]);
    lose(writes() ? region.get(place + at, data, length) : region.put(place + at, data, length));
    pieces_under_way_ = true;
  });
}

bool ThreePhase::carry_source(const Source& source, RemoteRegion& region, const Edge& edge, std::byte* buffer) noexcept {
  const Layout& layout = pass_.layout();
  const std::uint64_t place = source.places[static_cast<std::size_t>(&edge - source.inbox.route.edges.data())];
  if (std::byte* mapped = region.mapped()) {
    const double start = now();
    if (writes()) payload_in(layout, source.inbox, edge, {0, edge.bytes}, mapped + place, buffer);
    else payload_out(layout, source.inbox, edge, {0, edge.bytes}, buffer, mapped + place);
    pass_.report.copy_s += now() - start;
    return true;
  }
  if (is_crowded()) return false;
  if (piece_ >= servers().long_piece() && !pass_.plan.domain->overlap) return carry_pieces(source, region, edge, buffer), true;
  for (; at_ < edge.bytes && need_landings();) {
    if (parcels_ == most_parcels && !settle_window(buffer)) return false;
    const Range part{at_, std::min(at_ + chunk, edge.bytes)};
    under_way_[parcels_] = {&source.inbox, &edge, part};
    std::byte* packed = landing(parcels_);
    if (!writes()) payload_out(layout, source.inbox, edge, part, buffer, packed);
    lose(writes() ? region.get(place + part.low, packed, part.high - part.low)
                  : region.put(place + part.low, packed, part.high - part.low));
    ++parcels_;
    at_ = part.high;
  }
  return true;
}

Status ThreePhase::find_parts(std::uint64_t window, std::vector<iovec>& parts) {
  parts.clear();
  pieces_.clear();
  const auto& domain = pass_.layout().domains[pass_.plan.domain->domain];
  for (std::size_t s = 0; s < part_.sources.size(); ++s) {
    const Source& source = part_.sources[s];
    const Edge* edge = source.inbox.route.find(domain.first_window + static_cast<std::uint32_t>(window));
    if (!edge) continue;
    RemoteRegion* region = source_region(s);
    if (!region || !region->mapped()) return {};
    const std::uint64_t place = source.places[static_cast<std::size_t>(edge - source.inbox.route.edges.data())];
    std::byte* const packed = region->mapped() + place;
    for_each_payload_piece(pass_.layout(), source.inbox, *edge,
                           [&](std::uint64_t offset, std::uint64_t length, std::uint64_t at) {
                             pieces_.push_back({offset, length, packed + at});
                           });
  }
  std::ranges::sort(pieces_, {}, &PlacedPiece::offset);
  std::uint64_t end = 0;
  parts.reserve(pieces_.size());
  for (const PlacedPiece& piece : pieces_) {
    if (piece.offset < end) return parts.clear(), Status{};  // the order of copies tells who wins
    end = piece.offset + piece.length;
    parts.push_back({piece.memory, piece.length});
  }
  return {};
}

std::span<iovec> ThreePhase::parts(std::uint64_t window) noexcept {
  if (bank_.synchronous || lost() || !dump_) return {};
  constexpr std::uint64_t long_enough = 4096;  // copying it costs more than saying where it is
  if (piece_ < long_enough) return {};
  lose(failure());
  const std::size_t buffers = pass_.layout().placement.buffers;
  const Status found = attempt("store from remote memory", [&]() -> Status {
    parts_.resize(buffers);
    return find_parts(window, parts_[window % buffers]);
  });
  return found.ok() && !lost() ? std::span{parts_[window % buffers]} : std::span<iovec>{};
}

bool ThreePhase::carry(std::uint64_t window, std::byte* buffer) noexcept {
  if (rounds_ > 1 && window > round_) return false;
  if (buffer && !carry_buffer(window, buffer)) return false;
  ++carried_;
  if (!buffer) ++in_place_;
  if (!writes() && carried_ >= windows_of_round() && !lost()) lose(servers().flush());
  return true;
}

bool ThreePhase::carry_buffer(std::uint64_t window, std::byte* buffer) noexcept {
  if (carrying_ != window) {
    if (carrying_ != ~std::uint64_t{0}) return false;
    carrying_ = window;
    source_ = 0;
    at_ = 0;
    if (!lost()) lose(dump_ ? failure() : no_memory());
  }
  const auto& domain = pass_.layout().domains[pass_.plan.domain->domain];
  for (; source_ < part_.sources.size() && !lost() && !pass_.failed(); ++source_, at_ = 0) {
    const Source& source = part_.sources[source_];
    const Edge* edge = source.inbox.route.find(domain.first_window + static_cast<std::uint32_t>(window));
    if (!edge) continue;
    RemoteRegion* region = source_region(source_);
    if (!region) {
      lose(problem(Code::internal, "cannot use remote memory: a rank has none"));
      break;
    }
    if (!carry_source(source, *region, *edge, buffer)) return false;
  }
  if (!settle_window(buffer)) return false;
  carrying_ = ~std::uint64_t{0};
  return true;
}

}  // namespace weir

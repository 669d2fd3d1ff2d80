#include "engine/arena.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"
#include "core/log.hpp"

namespace weir {

namespace {
/// How many domains a rank relays that come before this one.
std::uint32_t relays_before(const Layout& layout, const NodeMap& nodes, int rank, std::uint32_t domain) noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t d = 0; d < domain; ++d) count += relays(layout, nodes, rank, d) ? 1 : 0;
  return count;
}
}  // namespace

ArenaShape ArenaShape::of(const Layout& layout, const NodeMap& nodes, int rank) noexcept {
  ArenaShape shape;
  shape.buffers = layout.placement.buffers;
  shape.buffer_size = in_lines(layout.placement.buffer_size);
  if (domain_of_rank(layout, rank)) {
    shape.aggregator_bytes = shape.buffer_size * shape.buffers;
    if (nodes.nodes() > 1) {
      shape.landing_bytes = layout.placement.landing_bytes();
      shape.landings = Placement::landings(nodes.nodes());
    }
  }
  if (nodes.nodes() > 1) {
    shape.relays = relays_before(layout, nodes, rank, static_cast<std::uint32_t>(layout.domains.size()));
    shape.relay_chunk = layout.placement.landing_bytes();
  }
  return shape;
}

std::uint64_t ArenaShape::data_bytes() const noexcept {
  return aggregator_bytes + landing_bytes * landings + std::uint64_t{relays} * relay_chunk * Placement::relay_buffers;
}

std::uint64_t ArenaShape::whole_bytes() const noexcept {
  return data_bytes() ? control_bytes + data_bytes() : 0;
}

Arena::~Arena() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  if (window_ != MPI_WIN_NULL) {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  if (communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
}

Status Arena::reserve(const Layout& layout, std::span<MemoryBank* const> banks) {
  const ArenaShape shape = ArenaShape::of(layout, team_->nodes(), team_->rank());
  if (shape.buffers + std::uint64_t{shape.relays} * Placement::relay_buffers > ArenaShape::most_slots)
    return problem(Code::invalid, fmt::format("cannot relay {} domains through rank {}: at most {} buffers a rank",
                                              shape.relays, team_->rank(), ArenaShape::most_slots),
                   "lower plan.aggregators");
  if (banks.empty() && !wanted_bank_) return reserve(shape.data_bytes());
  return large_enough(layout, banks) ? Status{} : reserve_in_bank(shape.whole_bytes(), banks);
}

Status Arena::reserve_in_bank(std::uint64_t bytes, std::span<MemoryBank* const> banks) {
  moved_ = true;
  where_.clear();
  wanted_bank_ = banks.empty() ? nullptr : banks.front();
  size_ = 0;
  if (banks.empty()) {
    if (Status status = team_->provide(segment_, bytes); !status.ok()) return status;
    return size_ = bytes, Status{};
  }
  std::string refused;
  Status last;
  for (MemoryBank* bank : banks) {
    const BankAttributes& attributes = bank->attributes();
    Result<Allocation> memory = bank->allocate(bytes);
    if (!memory) {
      last = memory.status();
      log_line(LogComponent::plan, LogLevel::warn, "buffers do not fit in {}: {}", attributes.name, last.message());
      refused += fmt::format("{}{} had no room", refused.empty() ? "" : ", ", attributes.name);
      continue;
    }
    where_ = fmt::format("{}{}{}{}", attributes.name, attributes.emulated ? " (emulated: " + attributes.reason + ")" : "",
                         refused.empty() ? "" : ", because ", refused);
    team_->provide(segment_, std::move(*memory));
    return size_ = bytes, Status{};
  }
  return last;
}

Status Arena::reserve(std::uint64_t buffer_bytes) {
  const std::uint64_t wanted = buffer_bytes ? ArenaShape::control_bytes + buffer_bytes : 0;
  if (wanted <= size_) return {};
  moved_ = true;
  if (Status status = team_->provide(segment_, wanted); !status.ok()) return status;
  size_ = wanted;
  return {};
}

bool Arena::large_enough(const Layout& layout, std::span<MemoryBank* const> banks) const noexcept {
  if (wanted_bank_ != (banks.empty() ? nullptr : banks.front())) return false;
  return ArenaShape::of(layout, team_->nodes(), team_->rank()).whole_bytes() <= size_;
}

void Arena::give_back() noexcept {
  taken_ = bound_ = false;
  planned_buffers_ = 0;
}

void Arena::bind(std::uint64_t plan_serial, std::uint64_t buffer_bytes) noexcept {
  if (!fits(plan_serial)) fitting_[fitted_++ % fitting_.size()] = plan_serial;
  bound_ = true;
  planned_buffers_ = std::max(planned_buffers_, buffer_bytes);
}

Status Arena::connect(const Layout& layout, bool moved) noexcept {
  if (moved) fitting_.fill(0);
  moved_ = false;
  for (int local = 0; local < team_->local_size(); ++local) {
    const int rank = team_->nodes().ranks_on[team_->node()][local];
    if (ArenaShape::of(layout, team_->nodes(), rank).data_bytes() == 0) continue;
    auto base = team_->view(local, segment_);
    if (!base) return base.status();
    bases_[local] = *base;
  }
  return {};
}

Status Arena::connect_first(std::uint64_t buffer_bytes) {
  moved_ = false;
  auto base = team_->view(0, segment_);
  if (!base) return base.status();
  bases_[0] = *base;
  make_present(*base, ArenaShape::control_bytes + buffer_bytes);
  return {};
}

void Arena::link(bool one_sided, bool moved) {
  if (communicator_ == MPI_COMM_NULL) {
    MPI_Comm_dup(team_->communicator(), &communicator_);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }
  if (window_ != MPI_WIN_NULL && moved) {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  if (!one_sided || window_ != MPI_WIN_NULL) return;
  MPI_Win_create(const_cast<std::byte*>(base()), static_cast<MPI_Aint>(base() ? size_ : 0), 1, MPI_INFO_NULL,
                 communicator_, &window_);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
}

Channel Arena::aggregator_channel(const Layout& layout, int rank) const noexcept {
  const int local = team_->local_rank_of(rank);
  std::byte* base = bases_[local];
  return {reinterpret_cast<SlotControl*>(base), base + ArenaShape::control_bytes,
          in_lines(layout.placement.buffer_size), layout.placement.buffers, local};
}

Channel Arena::relay_channel(const Layout& layout, int rank, std::uint32_t domain) const noexcept {
  const int local = team_->local_rank_of(rank);
  const ArenaShape shape = ArenaShape::of(layout, team_->nodes(), rank);
  const std::uint64_t place = relays_before(layout, team_->nodes(), rank, domain);
  std::byte* base = bases_[local];
  auto* controls = reinterpret_cast<SlotControl*>(base) + shape.buffers + place * Placement::relay_buffers;
  std::byte* buffers = base + ArenaShape::control_bytes + shape.aggregator_bytes +
                       shape.landing_bytes * shape.landings + place * Placement::relay_buffers * shape.relay_chunk;
  return {controls, buffers, shape.relay_chunk, Placement::relay_buffers, local};
}

std::byte* Arena::landing(const Layout& layout, std::uint32_t index) const noexcept {
  const ArenaShape shape = ArenaShape::of(layout, team_->nodes(), team_->rank());
  return bases_[team_->local_rank()] + ArenaShape::control_bytes + shape.aggregator_bytes + index * shape.landing_bytes;
}

}  // namespace weir

#include "exchange/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <random>
#include <unordered_map>

#include "core/errors.hpp"
#include "exchange/host.hpp"
#include "exchange/team_control.hpp"
#include "memory/available_memory.hpp"

namespace weir {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t control_size = 8192;
constexpr std::uint64_t small_announcement = 16384;
constexpr std::uint64_t shown_size = control_size + Team::first_free_segment * small_announcement;
constexpr std::uint64_t kept_announcement = std::uint64_t{1} << 20;

void combine_outcomes(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<Outcome*>(inout)[i].combine(static_cast<const Outcome*>(in)[i]);
}

/// Memory for a segment; where it is much, only if there is so much to be had. Asking takes longer than getting a
/// little.
Status commit_asking(SharedSegment& segment, std::uint64_t offset, std::uint64_t size) {
  constexpr std::uint64_t little = std::uint64_t{8} << 20;
  return size <= little ? segment.commit(offset, size) : commit_within(segment, offset, size, available_memory);
}

/// Polling, with a yield each time, beats sleeping for waits of this length even on cores that many ranks share.
constexpr double default_spin_s = 2e-3;
/// What takes longer anyway, while networks need the cores.
constexpr double short_spin_s = 50e-6;

}  // namespace

Team::Place Team::small_place(int slot) const noexcept {
  return {static_cast<std::uint64_t>(local_rank_) * shown_size + control_size +
              static_cast<std::uint64_t>(slot) * small_announcement,
          small_announcement};
}

std::shared_ptr<Team> Team::allocate(MPI_Comm communicator) {
  static_assert(sizeof(Control) <= control_size);
  int size = 0;
  MPI_Comm_size(communicator, &size);
  std::shared_ptr<Team> team{new Team};
  team->introductions_.resize(static_cast<std::size_t>(size));
  team->local_of_.resize(static_cast<std::size_t>(size));
  team->given_ = communicator;
  return team;
}

Result<std::shared_ptr<Team>> Team::create(MPI_Comm communicator, const Options& options) {
  std::shared_ptr<Team> team;
  const Status allocated = attempt("make a team", [&] { return team = allocate(communicator), Status{}; });
  const int mine = static_cast<int>(allocated.code());
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, communicator);
  if (worst != 0) return allocated.ok() ? shortage() : allocated;
  Outcome met;
  met.fail(team->meet(options), team->rank());
  if (const Outcome& all = team->join(met); all.failed()) return status_of(all);
  return team;
}

Status Team::meet(const Options& options) {
  MPI_Comm_rank(given_, &rank_);
  const bool chosen = options.spin_s < 0;
  spin_s_ = chosen ? default_spin_s : options.spin_s;
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  any_thread_ = level == MPI_THREAD_MULTIPLE;
  present_ = options.present;
  auto own = SharedSegment::create_empty();
  if (own) node_room_ = std::move(*own);
  Introduction mine{host_key(), 0, node_room_.address()};
  if (rank_ == 0) mine.id = std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, introductions_.data(), sizeof mine, MPI_BYTE, given_);
  id_ = introductions_.front().id;
  const Status status = attempt("make a context", [&] {
    find_nodes(options.ranks_per_node);
    over_network_spin_s_ = chosen ? short_spin_s : spin_s_;
    storing_spin_s_ = nodes_.nodes() > 1 ? over_network_spin_s_ : spin_s_;
    return own ? map_node((options.room + page - 1) / page * page) : own.status();
  });
  introductions_ = {};
  return status;
}

const Outcome& Team::join(const Outcome& mine) {
  // Failures are told by an ordinary reduction here: shared memory is what may be missing.
  MPI_Type_contiguous(sizeof(Outcome), MPI_BYTE, &outcome_type_);
  MPI_Type_commit(&outcome_type_);
  MPI_Op_create(combine_outcomes, 1, &combine_);
  MPI_Allreduce(&mine, &result_, 1, outcome_type_, combine_, given_);
  if (result_.failed()) return result_;
  if (present_) make_present(node_room_.data(), peers_.size() * shown_size);
  if (nodes_.nodes() == 1) return result_;
  connect();
  MPI_Comm_split(communicator_, leader() ? 0 : MPI_UNDEFINED, rank_, &leaders_);
  return result_;
}

void Team::connect() {
  if (communicator_ != MPI_COMM_NULL) return;
  MPI_Comm_dup(given_, &communicator_);
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
}

void Team::find_nodes(int ranks_per_node) {
  struct Host {
    int ranks = 0;
    int node = 0;  // the last that has some of them
  };
  std::unordered_map<std::uint64_t, Host> hosts;
  std::vector<int> node_of(introductions_.size());
  int nodes = 0;
  for (std::size_t rank = 0; rank < introductions_.size(); ++rank) {
    Host& host = hosts[introductions_[rank].host];
    const int place = host.ranks++;
    local_of_[rank] = ranks_per_node > 0 ? place % ranks_per_node : place;
    if (local_of_[rank] == 0) host.node = nodes++;
    node_of[rank] = host.node;
  }
  local_rank_ = local_of_[static_cast<std::size_t>(rank_)];
  nodes_ = NodeMap::of(std::move(node_of));
}

Status Team::map_node(std::uint64_t room) {
  const auto& ranks = nodes_.ranks_on[node()];
  const std::uint64_t shown = ranks.size() * shown_size, whole = shown + ranks.size() * room;
  peers_.resize(ranks.size());
  if (leader() && nodes_.nodes() > 1) openings_.resize(2 * opening_room() * static_cast<std::size_t>(nodes_.nodes()));
  if (leader()) {
    if (Status status = node_room_.extend(whole); !status.ok()) return status;
  } else {
    const SharedSegment::Address& first = introductions_[static_cast<std::size_t>(ranks.front())].address;
    auto joined = first.descriptor >= 0 ? SharedSegment::join(first, whole) : Result<SharedSegment>{shortage()};
    if (!joined) return joined.status();
    node_room_ = std::move(*joined);
  }
  const auto place = static_cast<std::uint64_t>(local_rank_);
  if (Status status = node_room_.commit(place * shown_size, shown_size); !status.ok()) return status;
  room_used_ = shown + place * room;
  room_end_ = room_used_ + room;
  for (int slot = 0; slot < first_free_segment; ++slot) {
    places_[slot] = small_place(slot);
    control(local_rank_).shown[slot].offset = places_[slot].offset;
  }
  return {};
}

Team::~Team() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  if (combine_ != MPI_OP_NULL) MPI_Op_free(&combine_);
  if (outcome_type_ != MPI_DATATYPE_NULL) MPI_Type_free(&outcome_type_);
  for (MPI_Comm* c : {&leaders_, &communicator_})
    if (*c != MPI_COMM_NULL) MPI_Comm_free(c);
}

Team::Control& Team::control(int local_rank) noexcept {
  return *reinterpret_cast<Control*>(node_room_.data() + static_cast<std::uint64_t>(local_rank) * shown_size);
}

Doorbell& Team::doorbell(int local_rank) noexcept { return control(local_rank).doorbell; }

void Team::enter(std::uint64_t call) noexcept { control(local_rank_).journal.add(call); }

bool Team::diverged(double since) noexcept {
  constexpr double long_s = 1;
  if (deserted()) return true;
  if (clock_s() - since < long_s) return broken_;
  for (int i = 0; i < local_size() && !broken_; ++i)
    if (const std::uint64_t other = control(local_rank_).journal.difference(control(i).journal))
      break_up(control(local_rank_).outcome.call, other);
  return broken_;
}

void Team::break_up(std::uint64_t call, std::uint64_t other_call) noexcept {
  broken_ = true;
  result_ = {};
  result_.call = call;
  result_.other_call = other_call;
}

void Team::drop_out(std::uint64_t call) noexcept {
  control(0).dropped_out.store(call);
  for (int i = 0; i < local_size(); ++i) doorbell(i).ring();
  wake_all(control(0).generation);
  break_up(call, call);
}

bool Team::deserted() noexcept {
  const std::uint64_t call = control(0).dropped_out.load();
  if (call != 0 && !broken_) break_up(control(local_rank_).outcome.call, call);
  return call != 0;
}

bool Team::bring(const Outcome& mine) noexcept {
  if (broken_) return false;
  control(local_rank_).outcome = mine;
  Control& first = control(0);
  const std::uint32_t arrived = first.arrived.fetch_add(1) + 1;
  if (arrived + 1 == static_cast<std::uint32_t>(local_size()) && first.awaits_others.load()) first.doorbell.ring();
  if (arrived != static_cast<std::uint32_t>(local_size())) return false;
  first.arrived.store(0);
  return true;
}

Outcome Team::sum_of_node() noexcept {
  Outcome sum = control(0).outcome;
  for (int i = 1; i < local_size(); ++i) sum.combine(control(i).outcome);
  return sum;
}

void Team::arrive(const Outcome& mine) noexcept {
  if (!bring(mine)) return;
  const Outcome sum = sum_of_node();
  if (nodes_.nodes() == 1) return announce(sum);
  Control& first = control(0);
  first.result = sum;
  first.node_complete.store(1);
  first.doorbell.ring();
}

void Team::announce(const Outcome& sum) noexcept {
  Control& first = control(0);
  first.result = sum;
  first.announced_s = clock_s();
  first.generation.fetch_add(1);
  if (first.sleepers.load() > 0) wake_all(first.generation);
}

bool Team::complete() noexcept {
  if (broken_) return true;
  Control& first = control(0);
  if (speaks_for_node()) {
    if (!reducing_ && first.node_complete.load()) {
      first.node_complete.store(0);
      node_sum_ = first.result;
      MPI_Iallreduce(&node_sum_, &result_, 1, outcome_type_, combine_, leaders_, &reduction_);
      reducing_ = true;
    }
    if (reducing_) {
      int done = 0;
      MPI_Test(&reduction_, &done, MPI_STATUS_IGNORE);
      if (done) {
        reducing_ = false;
        announce(result_);
      }
    }
  }
  // A rank that dropped out has left all earlier agreements: this one may have become complete in between.
  if (first.generation.load() == generation_ && first.dropped_out.load() == 0) return false;
  if (first.generation.load() == generation_) return deserted();
  control(local_rank_).heard.store(++generation_);
  result_ = first.result;
  if (result_.other_call != 0) {
    control(local_rank_).journal.forget();
    broken_ = (result_.flags & Outcome::committed) != 0;
  }
  return true;
}

double Team::announced_s() noexcept { return control(0).announced_s; }

bool Team::all_heard(std::uint32_t agreement) noexcept {
  for (int i = 0; i < local_size(); ++i)
    if (static_cast<std::int32_t>(control(i).heard.load() - agreement) < 0) return false;
  return true;
}

void Team::look_after_messages() noexcept {
  int may_call = any_thread_ || nodes_.nodes() > 1, any = 0;
  if (!may_call) MPI_Is_thread_main(&may_call);
  if (may_call) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &any, MPI_STATUS_IGNORE);
}

void Team::sleep(std::uint32_t heard, Nap& nap) noexcept {
  if (!own_doorbell().sleep(heard, nap.next_s())) look_after_messages();
}

void Team::wait_for_result(double spin_s) noexcept {
  Control& first = control(0);
  Patience patience{spin_s};
  Nap nap;
  const double since = clock_s();
  while (true) {
    const std::uint32_t heard = own_doorbell().listen();
    if (complete()) return;
    if (patience.poll()) continue;
    if (!speaks_for_node()) {
      first.sleepers.fetch_add(1);
      const bool woken = sleep_while_equal(first.generation, generation_, nap.next_s());
      first.sleepers.fetch_sub(1);
      if (!woken) look_after_messages();
    } else if (reducing_) {
      patience.pause();
      continue;
    } else if (!first.node_complete.load()) {
      sleep(heard, nap);
    }
    if (complete() || diverged(since)) return;
  }
}

Status Team::agreed(const Status& mine) noexcept {
  Outcome outcome;
  outcome.fail(mine, rank_);
  return status_of(agree(outcome));
}

const Outcome& Team::agree(const Outcome& mine, double spin_s) noexcept {
  arrive(mine);
  wait_for_result(spin_s);
  return result_;
}

Outcome Team::others_arrived(const Outcome& mine) noexcept {
  Control& first = control(0);
  const auto others = static_cast<std::uint32_t>(local_size()) - 1;
  Patience patience{spin_s_};
  Nap nap;
  const double since = clock_s();
  first.awaits_others.store(1);
  while (true) {
    const std::uint32_t heard = first.doorbell.listen();
    if (broken_ || first.arrived.load() == others || deserted()) break;
    if (patience.poll()) continue;
    sleep(heard, nap);
    if (first.arrived.load() != others) (void)diverged(since);
  }
  first.awaits_others.store(0);
  if (broken_) return result_;
  Outcome all = mine;
  for (int i = 1; i < local_size(); ++i) {
    all.combine(control(i).outcome);
    control(i).outcome.bytes = 0;  // counted in what rank 0 brings
  }
  return all;
}

Outcome Team::all_but_first(const Outcome& all) const noexcept {
  Outcome rest = all;
  if (rank_ != 0) rest.bytes = 0;
  return rest;
}

Status Team::provide(int slot, std::uint64_t size) {
  Place& place = places_[slot];
  const bool in_bank = from_banks_[slot].data() != nullptr;
  if (place.size >= size && !in_bank) return {};
  if (in_bank) {
    from_banks_[slot] = {};
    place = {};
  }
  Peer& own = peers_[local_rank_];
  auto& shown = control(local_rank_).shown[slot];
  size = (size + 4095) / 4096 * 4096;
  if (slot >= first_free_segment && size <= room_end_ - room_used_) {
    if (Status status = commit_asking(node_room_, room_used_, size); !status.ok()) return status;
    if (place.offset != 0) node_room_.decommit(place.offset, place.size);
    place = {room_used_, size};
    room_used_ += size;
  } else {
    auto outside = SharedSegment::create(size, 0);
    if (!outside) return outside.status();
    if (Status status = commit_asking(*outside, 0, size); !status.ok()) return status;
    own.outside[slot] = std::move(*outside);
    place = {0, size};
    shown.address = own.outside[slot].address();
  }
  shown.offset = place.offset;
  shown.generation.fetch_add(1);
  return {};
}

bool Team::hand_over(const Handed& mine) {
  Control& own = control(local_rank_);
  own.handed_pieces = 0;
  if (mine.pieces.empty()) return true;
  if (mine.data.size() > most_handed) return false;
  const std::size_t list = mine.pieces.size_bytes();
  const std::uint64_t room = std::min<std::uint64_t>(std::bit_ceil(list + mine.data.size()), list + most_handed);
  if (!provide(handed_segment, room).ok() || provided_outside(handed_segment)) return false;
  std::byte* const place = node_room_.data() + own.shown[handed_segment].offset;
  std::memcpy(place, mine.pieces.data(), list);
  std::memcpy(place + list, mine.data.data(), mine.data.size());
  own.handed_pieces = mine.pieces.size();
  own.handed_bytes = mine.data.size();
  return true;
}

Team::Handed Team::handed_by(int local_rank) noexcept {
  const Control& other = control(local_rank);
  if (other.handed_pieces == 0) return {};
  const std::byte* const place = node_room_.data() + other.shown[handed_segment].offset;
  const std::span pieces{reinterpret_cast<const Extent*>(place), other.handed_pieces};
  return {pieces, {place + pieces.size_bytes(), other.handed_bytes}};
}

BankAccount& Team::account(int bank) noexcept { return control(0).accounts[static_cast<std::size_t>(bank)]; }

void Team::provide(int slot, Allocation memory) noexcept {
  Peer& own = peers_[local_rank_];
  Place& place = places_[slot];
  if (place.offset != 0) node_room_.decommit(place.offset, place.size);
  own.outside[slot] = {};
  from_banks_[slot] = std::move(memory);
  place = {0, from_banks_[slot].size()};
  auto& shown = control(local_rank_).shown[slot];
  shown.address = from_banks_[slot].address();
  shown.offset = 0;
  shown.generation.fetch_add(1);
}

Result<std::byte*> Team::view(int local_rank, int slot) {
  Peer& peer = peers_[local_rank];
  auto& shown = control(local_rank).shown[slot];
  if (shown.offset != 0) return node_room_.data() + shown.offset;
  if (local_rank == local_rank_ && from_banks_[slot].data()) return from_banks_[slot].data();
  const std::uint32_t generation = shown.generation.load();
  if (local_rank != local_rank_ && generation != peer.generation[slot]) {
    peer.outside[slot] = {};
    auto mapped = SharedSegment::map(shown.address);
    if (!mapped) return mapped.status();
    peer.outside[slot] = std::move(*mapped);
    peer.generation[slot] = generation;
  }
  return peer.outside[slot].data();
}

void Team::trim() noexcept {
  for (int slot = 0; slot < first_free_segment; ++slot)
    for (int i = 0; i < local_size(); ++i) {
      if (peers_[i].outside[slot].size() <= kept_announcement) continue;
      peers_[i].outside[slot] = {};
      peers_[i].generation[slot] = 0;
      if (i != local_rank_) continue;
      places_[slot] = small_place(slot);
      control(i).shown[slot].offset = places_[slot].offset;
    }
}

}  // namespace weir

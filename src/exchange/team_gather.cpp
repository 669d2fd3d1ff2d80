#include <algorithm>
#include <cstring>
#include <new>

#include "core/archive.hpp"
#include "exchange/team_control.hpp"

namespace weir {

namespace {

constexpr std::uint64_t largest_message = std::uint64_t{1} << 30;
constexpr int tag_exchange = 1;
constexpr std::uint64_t must_map = std::uint64_t{1} << 63;

}  // namespace

void Team::post(int slot, std::span<const std::byte> mine, Outcome& outcome) noexcept {
  outcome.fail(attempt("announce", [&] { return provide(slot, mine.size()); }), rank_);
  if (provided_outside(slot)) outcome.flags |= must_map;
  if (outcome.code != 0) return;
  if (!mine.empty()) std::memcpy(*view(local_rank_, slot), mine.data(), mine.size());
  control(local_rank_).posted[slot].store(mine.size());
}

Status Team::posts(int slot, Posts& found) {
  for (int i = 0; i < local_size(); ++i) {
    auto data = view(i, slot);
    if (!data) return data.status();
    found[nodes_.ranks_on[node()][i]] = {*data, control(i).posted[slot].load()};
  }
  return {};
}

Result<Team::Posts> Team::posts(int slot) {
  Posts found(static_cast<std::size_t>(size()));
  if (Status status = posts(slot, found); !status.ok()) return status;
  return found;
}

Result<Team::Posts> Team::gather_in_node(std::span<const std::byte> mine, const Outcome& outcome) {
  const int slot = next_slot();
  Outcome here = outcome;
  Posts found;
  here.fail(attempt("gather", [&] { return found.resize(static_cast<std::size_t>(size())), Status{}; }), rank_);
  post(slot, mine, here);
  Outcome all = agree(here);
  if (all.other_call != 0) --posts_;  // those who called something else have not counted this one
  if (all.failed()) return status_of(all);
  Outcome mapped = all_but_first(all);
  mapped.fail(posts(slot, found), rank_);
  if (all.flags & must_map) {
    all = agree(mapped);
    if (all.failed()) return status_of(all);
  }
  return found;
}

Result<Team::Shared> Team::gather_and_share(std::span<const std::byte> mine, const Outcome& outcome,
                                            std::uint64_t abroad, const Make& make) {
  const auto make_of = [&](auto&& all_posts, const Outcome& all, Outcome& told) noexcept {
    std::vector<std::byte> made;
    try {
      auto result = make(all_posts(), all);
      if (result) made = std::move(*result);
      else told.fail(result.status(), rank_);
    } catch (const std::bad_alloc&) {
      told.fail(shortage(), rank_);
    } catch (const Error& error) {
      told.fail(error.status(), rank_);
    }
    return made;
  };
  Outcome here = outcome;
  Shared shared;
  if (nodes_.nodes() > 1) {
    auto in_node = gather_for_others(mine, outcome, abroad, shared.slot);
    if (!in_node) return in_node.status();
    const Outcome all = result_;
    std::vector<std::byte> made;
    if (leader()) {
      const std::vector<std::byte> others = collect(packed_posts(*in_node, shared.slot, here), here);
      if (rank_ == 0 && here.code == 0) made = make_of([&]() -> Posts& { return add_posts(others, *in_node); }, all, here);
      distribute(made, here);
    }
    auto bytes = share_in_node(made, here);
    if (!bytes) return bytes.status();
    shared.bytes = *bytes;
    return shared;
  }
  shared.slot = next_slot();
  const int answer = next_slot();
  post(shared.slot, mine, here);
  const Outcome& all = agree_then(here, [&](Outcome& sum) {
    if (sum.failed()) return;
    post(answer, make_of([&] { return posts(shared.slot).value(); }, Outcome{sum}, sum), sum);
  });
  if (all.other_call != 0) posts_ -= 2;
  if (all.failed()) return status_of(all);
  auto data = view(0, answer);
  if (data) shared.bytes = {*data, control(0).posted[answer].load()};
  else shared.mine = data.status();
  return shared;
}

Result<std::span<const std::byte>> Team::share_in_node(std::span<const std::byte> mine, const Outcome& outcome) {
  auto all = gather_in_node(leader() ? mine : std::span<const std::byte>{}, outcome);
  if (!all) return all.status();
  return (*all)[nodes_.ranks_on[node()][0]];
}

namespace {

/// What the first ranks of two nodes send one another at once, in a place of `room` bytes: most have no more to say.
struct Opening {
  std::uint64_t size = 0;
  std::int32_t code = 0;       // of the sender, who sends nothing when it is not 0
  std::int32_t continued = 0;  // whether the sender has more for anybody
};

Opening opening_at(const std::byte* place) noexcept {
  Opening opening;
  std::memcpy(&opening, place, sizeof opening);
  return opening;
}

}  // namespace

std::uint64_t Team::opening_room() const noexcept {
  constexpr std::uint64_t all = std::uint64_t{1} << 20;
  return std::clamp<std::uint64_t>(all / static_cast<std::uint64_t>(nodes_.nodes()), 64, 4096) / 8 * 8;
}

std::vector<std::vector<std::byte>> Team::exchange_between_nodes(const std::vector<std::vector<std::byte>>& to,
                                                                 Outcome& outcome) {
  const auto count = static_cast<std::size_t>(nodes_.nodes());
  std::vector<std::vector<std::byte>> from;
  if (!leader()) return from;
  const std::uint64_t room = opening_room(), inside = room - sizeof(Opening);
  std::byte* const sent = openings_.data();
  std::byte* const received = sent + count * room;
  const auto is_long = [&](const auto& bytes) { return bytes.size() > inside; };
  const bool silent = outcome.code != 0;
  const bool continued = !silent && std::ranges::any_of(to, is_long);
  for (std::size_t n = 0; n < count; ++n) {
    const Opening opening{silent ? 0 : to[n].size(), outcome.code, continued};
    std::memcpy(sent + n * room, &opening, sizeof opening);
    if (opening.size > 0) std::memcpy(sent + n * room + sizeof opening, to[n].data(), std::min(opening.size, inside));
  }
  MPI_Alltoall(sent, static_cast<int>(room), MPI_BYTE, received, static_cast<int>(room), MPI_BYTE, leaders_);
  bool more = false;
  std::size_t messages = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const Opening opening = opening_at(received + n * room);
    more |= opening.continued != 0;
    outcome.hear(opening.code);
    messages += messages_for(opening.size) + (silent ? 0 : messages_for(to[n].size()));
  }
  if (outcome.code != 0) return from;
  std::vector<MPI_Request> requests;
  const Status allocated = attempt("exchange between nodes", [&]() -> Status {
    from.resize(count);
    for (std::size_t n = 0; n < count; ++n) {
      const std::byte* place = received + n * room;
      from[n].resize(opening_at(place).size);
      if (!from[n].empty()) std::memcpy(from[n].data(), place + sizeof(Opening), std::min(from[n].size(), inside));
    }
    requests.reserve(messages);
    return {};
  });
  outcome.fail(allocated, rank_);
  if (!more) return from;
  // Whoever has no room must not be sent anything.
  const int mine = static_cast<int>(allocated.code());
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, leaders_);
  outcome.hear(worst);
  if (worst != 0) return from;
  for (std::size_t n = 0; n < count; ++n)
    if (is_long(from[n]))
      receive_bytes(from[n].data() + inside, from[n].size() - inside, static_cast<int>(n), tag_exchange, leaders_, requests);
  for (std::size_t n = 0; n < count; ++n)
    if (is_long(to[n]))
      send_bytes(to[n].data() + inside, to[n].size() - inside, static_cast<int>(n), tag_exchange, leaders_, requests);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return from;
}

std::vector<std::byte> Team::collect(const std::vector<std::byte>& mine, Outcome& outcome) {
  const auto count = static_cast<std::size_t>(nodes_.nodes());
  const std::uint64_t room = opening_room(), inside = room - sizeof(Opening);
  std::byte* const sent = openings_.data();
  std::byte* const received = sent + count * room;
  std::vector<std::byte> all;
  std::vector<MPI_Request> requests;
  outcome.fail(attempt("exchange between nodes", [&] { return requests.reserve(messages_for(mine.size())), Status{}; }),
               rank_);
  const Opening own{outcome.code != 0 ? 0 : mine.size(), outcome.code, 0};
  std::memcpy(sent, &own, sizeof own);
  if (own.size > 0) std::memcpy(sent + sizeof own, mine.data(), std::min(own.size, inside));
  MPI_Gather(sent, static_cast<int>(room), MPI_BYTE, received, static_cast<int>(room), MPI_BYTE, 0, leaders_);
  if (rank_ != 0) {
    if (own.size <= inside) return all;
    int worst = 0;  // of the first, who may have no room
    MPI_Recv(&worst, 1, MPI_INT, 0, tag_exchange, leaders_, MPI_STATUS_IGNORE);
    outcome.hear(worst);
    if (worst == 0) send_bytes(mine.data() + inside, own.size - inside, 0, tag_exchange, leaders_, requests);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return all;
  }
  std::size_t messages = 0;
  std::uint64_t bytes = 0;
  for (std::size_t n = 1; n < count; ++n) {
    const Opening opening = opening_at(received + n * room);
    outcome.hear(opening.code);
    messages += messages_for(opening.size);
    bytes += opening.size;
  }
  outcome.fail(attempt("exchange between nodes", [&] {
    return all.resize(bytes), requests.reserve(messages), Status{};
  }), rank_);
  const int worst = outcome.code;
  std::uint64_t at = 0;
  for (std::size_t n = 1; n < count; ++n) {
    const Opening opening = opening_at(received + n * room);
    if (opening.size > inside) MPI_Send(&worst, 1, MPI_INT, static_cast<int>(n), tag_exchange, leaders_);
    if (worst != 0 || opening.size == 0) continue;
    std::memcpy(all.data() + at, received + n * room + sizeof opening, std::min(opening.size, inside));
    if (opening.size > inside)
      receive_bytes(all.data() + at + inside, opening.size - inside, static_cast<int>(n), tag_exchange, leaders_, requests);
    at += opening.size;
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return all;
}

void Team::distribute(std::vector<std::byte>& bytes, Outcome& outcome) {
  const std::uint64_t room = opening_room(), inside = room - sizeof(Opening);
  std::byte* const sent = openings_.data();
  Opening opening{outcome.code != 0 ? 0 : bytes.size(), outcome.code, 0};
  if (rank_ == 0) {
    std::memcpy(sent, &opening, sizeof opening);
    if (opening.size > 0) std::memcpy(sent + sizeof opening, bytes.data(), std::min(opening.size, inside));
  }
  MPI_Bcast(sent, static_cast<int>(room), MPI_BYTE, 0, leaders_);
  opening = opening_at(sent);
  outcome.hear(opening.code);
  if (opening.size == 0) return;
  if (rank_ != 0)
    outcome.fail(attempt("exchange between nodes", [&]() -> Status {
      bytes.resize(opening.size);
      std::memcpy(bytes.data(), sent + sizeof opening, std::min(opening.size, inside));
      return {};
    }), rank_);
  if (opening.size <= inside) return;
  // Whoever has no room must not be sent anything.
  int worst = outcome.code;
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, leaders_);
  outcome.hear(worst);
  for (std::uint64_t at = inside; worst == 0 && at < opening.size; at += largest_message)
    MPI_Bcast(bytes.data() + at, static_cast<int>(std::min(largest_message, opening.size - at)), MPI_BYTE, 0, leaders_);
}

Result<Team::Posts> Team::gather_for_others(std::span<const std::byte> mine, const Outcome& outcome,
                                            std::uint64_t abroad, int& slot) {
  slot = static_cast<int>(posts_ % first_free_segment);
  control(local_rank_).posted_abroad[slot].store(std::min<std::uint64_t>(abroad, mine.size()));
  return gather_in_node(mine, outcome);
}

std::vector<std::byte> Team::packed_posts(const Posts& in_node, int slot, Outcome& outcome) {
  std::vector<std::byte> bytes;
  outcome.fail(attempt("exchange between nodes", [&]() -> Status {
    Writer packed;
    for (const int rank : nodes_.ranks_on[node()]) {
      const auto blob = in_node[rank];
      packed.put(rank);
      const std::uint64_t size = control(local_of_[rank]).posted_abroad[slot].load();
      packed.put(std::vector<std::byte>(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    bytes = packed.data();
    return {};
  }), rank_);
  return bytes;
}

std::vector<std::byte> Team::posts_of_others(const Posts& in_node, int slot, Outcome& outcome) {
  std::vector<std::vector<std::byte>> to;
  if (leader()) {
    const std::vector<std::byte> packed = packed_posts(in_node, slot, outcome);
    outcome.fail(attempt("exchange between nodes", [&]() -> Status {
      to.assign(static_cast<std::size_t>(nodes_.nodes()), packed);
      to[node()].clear();
      return {};
    }), rank_);
  }
  const auto from = exchange_between_nodes(to, outcome);
  std::vector<std::byte> joined;
  outcome.fail(attempt("exchange between nodes", [&]() -> Status {
    for (const auto& blob : from) joined.insert(joined.end(), blob.begin(), blob.end());
    return {};
  }), rank_);
  return joined;
}

Team::Posts& Team::add_posts(std::span<const std::byte> joined, Posts& posts) noexcept {
  const std::byte* at = joined.data();
  const std::byte* end = at + joined.size();
  while (at != end) {
    int rank = 0;
    std::uint64_t length = 0;
    std::memcpy(&rank, at, sizeof rank);
    std::memcpy(&length, at + sizeof rank, sizeof length);
    at += sizeof rank + sizeof length;
    posts[rank] = {at, length};
    at += length;
  }
  return posts;
}

Result<Team::Posts> Team::gather(std::span<const std::byte> mine, const Outcome& outcome, std::uint64_t abroad) {
  int slot = 0;
  auto in_node = gather_for_others(mine, outcome, abroad, slot);
  if (!in_node || nodes_.nodes() == 1) return in_node;
  Outcome here = outcome;
  const std::vector<std::byte> others = posts_of_others(*in_node, slot, here);
  auto shared = share_in_node(others, here);
  if (!shared) return shared.status();
  add_posts(*shared, *in_node);
  return in_node;
}

std::size_t messages_for(std::uint64_t size) noexcept {
  return static_cast<std::size_t>((size + largest_message - 1) / largest_message);
}

void send_bytes(const std::byte* data, std::uint64_t size, int to, int tag, MPI_Comm communicator,
                std::vector<MPI_Request>& requests) {
  for (std::uint64_t at = 0; at < size; at += largest_message) {
    requests.emplace_back();
    MPI_Isend(data + at, static_cast<int>(std::min(largest_message, size - at)), MPI_BYTE, to, tag, communicator,
              &requests.back());
  }
}

void receive_bytes(std::byte* data, std::uint64_t size, int from, int tag, MPI_Comm communicator,
                   std::vector<MPI_Request>& requests) {
  for (std::uint64_t at = 0; at < size; at += largest_message) {
    requests.emplace_back();
    MPI_Irecv(data + at, static_cast<int>(std::min(largest_message, size - at)), MPI_BYTE, from, tag, communicator,
              &requests.back());
  }
}

}  // namespace weir

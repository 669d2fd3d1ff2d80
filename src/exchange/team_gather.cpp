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
    shared.slot = static_cast<int>(posts_ % first_free_segment);
    auto all_posts = gather(mine, outcome, abroad);
    if (!all_posts) return all_posts.status();
    std::vector<std::byte> made;
    if (leader()) made = make_of([&]() -> Posts& { return *all_posts; }, Outcome{result_}, here);
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

Result<std::vector<std::vector<std::byte>>> Team::exchange_between_nodes(std::vector<std::vector<std::byte>> to,
                                                                         Outcome& outcome) {
  const auto count = static_cast<std::size_t>(nodes_.nodes());
  std::vector<std::vector<std::byte>> from;
  std::vector<std::uint64_t> send_sizes, receive_sizes;
  std::vector<MPI_Request> requests;
  if (leader())
    outcome.fail(attempt("exchange between nodes", [&]() -> Status {
      from.resize(count);
      send_sizes.resize(count);
      receive_sizes.resize(count);
      return {};
    }), rank_);
  if (const Outcome& all = agree(outcome); all.failed()) return status_of(all);
  if (!leader()) return from;
  for (std::size_t n = 0; n < count; ++n) send_sizes[n] = to[n].size();
  MPI_Alltoall(send_sizes.data(), 1, MPI_UINT64_T, receive_sizes.data(), 1, MPI_UINT64_T, leaders_);
  const Status allocated = attempt("exchange between nodes", [&]() -> Status {
    std::uint64_t messages = 0;
    for (std::size_t n = 0; n < count; ++n) {
      from[n].resize(receive_sizes[n]);
      messages += send_sizes[n] / largest_message + receive_sizes[n] / largest_message + 2;
    }
    requests.reserve(messages);
    return {};
  });
  // Whoever has no room must not be sent anything; the others of the node hear of it in the next agreement.
  const int mine = static_cast<int>(allocated.code());
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, leaders_);
  if (worst != 0) {
    outcome.fail(allocated.ok() ? shortage() : allocated, rank_);
    return from;
  }
  for (std::size_t n = 0; n < count; ++n)
    receive_bytes(from[n].data(), from[n].size(), static_cast<int>(n), tag_exchange, leaders_, requests);
  for (std::size_t n = 0; n < count; ++n)
    send_bytes(to[n].data(), to[n].size(), static_cast<int>(n), tag_exchange, leaders_, requests);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return from;
}

Result<std::vector<std::span<const std::byte>>> Team::gather(std::span<const std::byte> mine, const Outcome& outcome,
                                                             std::uint64_t abroad) {
  const std::uint32_t slot = posts_ % first_free_segment;
  control(local_rank_).posted_abroad[slot].store(std::min<std::uint64_t>(abroad, mine.size()));
  auto in_node = gather_in_node(mine, outcome);
  if (!in_node || nodes_.nodes() == 1) return in_node;
  Outcome here = outcome;
  std::vector<std::vector<std::byte>> to;
  if (leader())
    here.fail(attempt("exchange between nodes", [&]() -> Status {
      Writer packed;
      for (const int rank : nodes_.ranks_on[node()]) {
        const auto blob = (*in_node)[rank];
        packed.put(rank);
        const std::uint64_t size = control(local_of_[rank]).posted_abroad[slot].load();
        packed.put(std::vector<std::byte>(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(size)));
      }
      to.assign(static_cast<std::size_t>(nodes_.nodes()), packed.data());
      to[node()].clear();
      return {};
    }), rank_);
  auto foreign = exchange_between_nodes(std::move(to), here);
  if (!foreign) return foreign.status();
  std::vector<std::byte> joined;
  here.fail(attempt("exchange between nodes", [&]() -> Status {
    for (const auto& blob : *foreign) joined.insert(joined.end(), blob.begin(), blob.end());
    return {};
  }), rank_);
  auto shared = share_in_node(joined, here);
  if (!shared) return shared.status();
  const std::byte* at = shared->data();
  const std::byte* end = at + shared->size();
  while (at != end) {
    int rank = 0;
    std::uint64_t length = 0;
    std::memcpy(&rank, at, sizeof rank);
    std::memcpy(&length, at + sizeof rank, sizeof length);
    at += sizeof rank + sizeof length;
    (*in_node)[rank] = {at, length};
    at += length;
  }
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

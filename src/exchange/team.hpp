#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/pieces.hpp"
#include "exchange/doorbell.hpp"
#include "exchange/outcome.hpp"
#include "memory/bank.hpp"
#include "machine/node_map.hpp"
#include "memory/shared_segment.hpp"

namespace weir {

/// The ranks of a communicator, their nodes, and how they agree.
///
/// Inside a node everything goes through shared memory and sleeping, not polling; between nodes the first rank of
/// each node speaks for it.
class Team {
 public:
  struct Options {
    int ranks_per_node = 0;   ///< above 0: pretends smaller nodes
    double spin_s = -1;       ///< how long to poll before sleeping; below 0 it is chosen
    std::uint64_t room = 0;   ///< address space for what each rank will `provide`
    bool present = true;      ///< what ranks show is mapped at once, so that nothing later pays for it
  };
  /// Collective.
  static Result<std::shared_ptr<Team>> create(MPI_Comm communicator, const Options& options);
  // The same in parts: every rank by itself; when that worked for all they meet, and then tell one another how it went.
  static std::shared_ptr<Team> allocate(MPI_Comm communicator);
  /// Collective, but what comes out is this rank's alone. Where it failed nothing but `join` may be called.
  Status meet(const Options& options);
  /// Collective: all ranks' outcomes. There is a team only where none failed.
  const Outcome& join(const Outcome& mine);
  /// For `communicator` on one node, where otherwise no message is sent. Collective, and only while the communicator that
  /// the team was made of is there.
  void connect();
  ~Team();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return nodes_.ranks(); }
  [[nodiscard]] const NodeMap& nodes() const noexcept { return nodes_; }
  [[nodiscard]] int node() const noexcept { return nodes_.node_of[rank_]; }
  [[nodiscard]] int local_rank() const noexcept { return local_rank_; }
  [[nodiscard]] int local_size() const noexcept { return static_cast<int>(peers_.size()); }
  [[nodiscard]] bool leader() const noexcept { return local_rank_ == 0; }
  [[nodiscard]] int local_rank_of(int rank) const noexcept { return local_of_[rank]; }
  [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }
  /// The first ranks of all nodes, in the order of the nodes; MPI_COMM_NULL on the others, and on one node.
  [[nodiscard]] MPI_Comm leaders() const noexcept { return leaders_; }
  /// A number that no other team has.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

  // --- the order of collective calls ---
  /// Notes which collective call this rank begins, so that those who wait too long for it can tell.
  void enter(std::uint64_t call) noexcept;
  /// The ranks made different calls and may wait for one another for ever: from now on every agreement says so at once.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  /// A bit of calls in which ranks wait for the data of others, not only for all to arrive.
  static constexpr std::uint64_t moves_data = std::uint64_t{1} << 55;
  /// For who has waited since then: breaks the team when that is long, and a rank of this node has begun another call in
  /// the place of one of ours, so that nobody will ever come. Where all only wait for all, the agreement itself will tell.
  bool diverged(double since) noexcept;
  void break_up(std::uint64_t call, std::uint64_t other_call) noexcept;
  /// For a rank that cannot take part in what the others have begun without meeting it: breaks the team on this node;
  /// the others find `call` as the other call.
  void drop_out(std::uint64_t call) noexcept;
  /// Whether a rank of this node did so; then the team is broken.
  bool deserted() noexcept;

  // --- agreement: every rank arrives, none leaves before all have ---
  void arrive(const Outcome& mine) noexcept;
  /// Whether all have arrived; makes progress between nodes.
  [[nodiscard]] bool complete() noexcept;
  [[nodiscard]] const Outcome& result() const noexcept { return result_; }
  /// When the result was known on this node, by `clock_s`; until this rank arrives again.
  [[nodiscard]] double announced_s() noexcept;
  void wait_for_result() noexcept { wait_for_result(spin_s_); }
  void wait_for_result(double spin_s) noexcept;
  /// How many there were.
  [[nodiscard]] std::uint32_t agreements() const noexcept { return generation_; }
  /// Whether all ranks of this node know the result of that one. From any thread.
  [[nodiscard]] bool all_heard(std::uint32_t agreement) noexcept;
  /// arrive, wait, result.
  const Outcome& agree(const Outcome& mine) noexcept { return agree(mine, spin_s_); }
  const Outcome& agree(const Outcome& mine, double spin_s) noexcept;
  /// The first problem of all the ranks'.
  Status agreed(const Status& mine) noexcept;
  /// The same, and rank 0 does something when all others have arrived and before anybody leaves; it may change the
  /// outcome of all.
  template <class Action>
  const Outcome& agree_then(const Outcome& mine, Action&& act) {
    if (nodes_.nodes() > 1) {
      Outcome all = agree(mine, storing_spin_s_);
      if (all.other_call != 0) return result_;  // those who called something else do not come again
      if (rank_ == 0) act(all);
      return agree(all_but_first(all), storing_spin_s_);
    }
    if (rank_ != 0) return agree(mine);
    Outcome all = others_arrived(mine);
    act(all);
    return agree(all);
  }

  /// The same, but on one node whoever arrives last does it: nobody has to be waited for.
  template <class Action>
  const Outcome& agree_then_last(const Outcome& mine, Action&& act) {
    if (nodes_.nodes() > 1) return agree_then(mine, act);
    if (bring(mine)) {
      Outcome all = sum_of_node();
      act(all);
      announce(all);
    }
    wait_for_result();
    return result_;
  }

  /// The same, and every rank does something when all have arrived; what it adds to the outcome is agreed on too.
  template <class Action>
  const Outcome& agree_then_each(const Outcome& mine, Action&& act) {
    Outcome all = agree(mine);
    if (all.other_call != 0) return result_;
    act(all);
    return agree(all_but_first(all));
  }

  // --- telling all ranks something ---
  /// Every rank's `mine`, by rank, readable until the next call but one of this kind. An error in any rank's `outcome`
  /// comes back on all ranks. Collective. Ranks of other nodes see only the first `abroad` bytes.
  using Posts = std::vector<std::span<const std::byte>>;
  Result<Posts> gather(std::span<const std::byte> mine, const Outcome& outcome, std::uint64_t abroad = ~std::uint64_t{0});
  /// The same, but a rank sees only those of its own node; others are empty.
  Result<Posts> gather_in_node(std::span<const std::byte> mine, const Outcome& outcome);
  /// What the first rank of each node passes, read by all ranks of that node.
  Result<std::span<const std::byte>> share_in_node(std::span<const std::byte> mine, const Outcome& outcome);
  /// What the first rank of all made of the posts of all ranks, and where those of this node are.
  struct Shared {
    std::span<const std::byte> bytes;
    int slot = 0;
    Status mine;  ///< why this rank alone cannot read them: to be told in the next agreement
  };
  /// `gather`, and what `make` makes of it on the first rank goes to all: on one node in one meeting. `make` also gets the
  /// outcome of all. Collective.
  using Make = std::function<Result<std::vector<std::byte>>(const Posts&, const Outcome&)>;
  Result<Shared> gather_and_share(std::span<const std::byte> mine, const Outcome& outcome, std::uint64_t abroad,
                                  const Make& make);
  /// What the ranks of this node posted, by rank: readable until the next call but one of this kind.
  Result<Posts> posts(int slot);
  /// Between the nodes' first ranks, which call it together: `to[node]` goes there, what the others sent comes back, or
  /// nothing when one of them brings an outcome that failed. What goes wrong is in the outcome of all of them: they must
  /// bring it to the next agreement.
  std::vector<std::vector<std::byte>> exchange_between_nodes(const std::vector<std::vector<std::byte>>& to,
                                                             Outcome& outcome);

  // --- memory that ranks of a node show one another ---
  static constexpr int segments = 25;
  static constexpr int first_free_segment = 3;
  static constexpr int handed_segment = segments - 1;  ///< what others may store for this rank
  /// Makes this rank's segment `slot` at least `size` bytes (its contents are lost when it grows).
  Status provide(int slot, std::uint64_t size);
  /// The same with memory of a bank.
  void provide(int slot, Allocation memory) noexcept;
  /// Whether others must map memory before they can `view` it: when this rank's room was not enough.
  [[nodiscard]] bool provided_outside(int slot) const noexcept { return places_[slot].size > 0 && places_[slot].offset == 0; }
  /// Gives back the memory of large announcements. Collective.
  void trim() noexcept;
  /// Memory of segment `slot` of a rank of this node; call after the agreement that followed its `provide`.
  Result<std::byte*> view(int local_rank, int slot);

  /// Small pieces of a file that another rank of the node may store, and their bytes one after another.
  struct Handed {
    std::span<const Extent> pieces;
    std::span<const std::byte> data;
  };
  static constexpr std::uint64_t most_handed = std::uint64_t{128} << 10;
  /// Leaves a copy for whoever arrives last at the next agreement, in place of the last one; false when there is no room.
  bool hand_over(const Handed& mine);
  /// What a rank of this node has left.
  [[nodiscard]] Handed handed_by(int local_rank) noexcept;

  /// What the ranks of this node have in use of their k-th bank; lives as long as the team.
  static constexpr int shared_accounts = 16;
  [[nodiscard]] BankAccount& account(int bank) noexcept;

  // --- waiting ---
  [[nodiscard]] Doorbell& doorbell(int local_rank) noexcept;
  [[nodiscard]] Doorbell& own_doorbell() noexcept { return doorbell(local_rank_); }
  /// How long to poll before sleeping while others move and store data.
  [[nodiscard]] double storing_spin_s() const noexcept { return storing_spin_s_; }
  /// The same where all of it goes over a network.
  [[nodiscard]] double over_network_spin_s() const noexcept { return over_network_spin_s_; }
  /// Until the doorbell rings, or for this nap. What this rank or the program has sent may still be in the MPI library's own
  /// memory, which only calls of MPI move on, and the receiver may have to come before anybody can go on: nobody may just
  /// sleep.
  void sleep(std::uint32_t heard, Nap& nap) noexcept;

 private:
  struct Control;
  struct Peer {
    std::array<SharedSegment, segments> outside;  // segments for which its room was too small
    std::array<std::uint32_t, segments> generation{};
  };
  struct Place {  // of an own segment, in the node's room
    std::uint64_t offset = 0, size = 0;
  };

  Team() = default;
  void find_nodes(int ranks_per_node);
  /// Maps what the ranks of this node show, and the room that each has, in one segment: that of the first.
  Status map_node(std::uint64_t room);
  Control& control(int local_rank) noexcept;
  /// Where announcements go that are not large.
  [[nodiscard]] Place small_place(int slot) const noexcept;
  /// Bytes that two nodes' first ranks exchange at once.
  [[nodiscard]] std::uint64_t opening_room() const noexcept;
  /// `gather_in_node`, which also tells how much of it other nodes shall see.
  Result<Posts> gather_for_others(std::span<const std::byte> mine, const Outcome& outcome, std::uint64_t abroad, int& slot);
  /// On the node's first rank: what its ranks posted for other nodes.
  std::vector<std::byte> packed_posts(const Posts& in_node, int slot, Outcome& outcome);
  /// Between the nodes' first ranks, which call both together: to the first of them, and from there to all. What goes wrong
  /// is in the outcome of those who know: they must bring it to the next agreement.
  std::vector<std::byte> collect(const std::vector<std::byte>& mine, Outcome& outcome);
  void distribute(std::vector<std::byte>& bytes, Outcome& outcome);
  /// On the node's first rank: what those of other nodes posted, for `add_posts`.
  std::vector<std::byte> posts_of_others(const Posts& in_node, int slot, Outcome& outcome);
  static Posts& add_posts(std::span<const std::byte> joined, Posts& posts) noexcept;
  /// Puts `mine` where the others of the node will look; adds to the outcome.
  void post(int slot, std::span<const std::byte> mine, Outcome& outcome) noexcept;
  Status posts(int slot, Posts& found);
  int next_slot() noexcept { return static_cast<int>(posts_++ % first_free_segment); }
  /// For who has slept for as long as it may.
  void look_after_messages() noexcept;
  [[nodiscard]] bool speaks_for_node() const noexcept { return leader() && nodes_.nodes() > 1; }
  /// Whether all ranks of the node have now arrived.
  bool bring(const Outcome& mine) noexcept;
  /// What they brought, for the last of them.
  Outcome sum_of_node() noexcept;
  void announce(const Outcome& sum) noexcept;
  /// For the first rank of the only node: waits for all others; what they and it bring.
  Outcome others_arrived(const Outcome& mine) noexcept;
  /// What to bring to a second agreement about the same, so that bytes are not counted twice.
  [[nodiscard]] Outcome all_but_first(const Outcome& all) const noexcept;

  struct Introduction {  // of a rank to the others
    std::uint64_t host = 0;
    std::uint64_t id = 0;  // the team's, from rank 0
    SharedSegment::Address address;
  };

  std::vector<Introduction> introductions_;
  std::uint64_t id_ = 0;
  MPI_Comm given_ = MPI_COMM_NULL;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Comm leaders_ = MPI_COMM_NULL;  // the first ranks of all nodes
  MPI_Op combine_ = MPI_OP_NULL;
  MPI_Datatype outcome_type_ = MPI_DATATYPE_NULL;
  MPI_Request reduction_ = MPI_REQUEST_NULL;
  int rank_ = 0;
  int local_rank_ = 0;
  NodeMap nodes_;
  std::vector<int> local_of_;
  SharedSegment node_room_;  // what each peer shows, one after the other, and then the rooms for their segments
  std::vector<Peer> peers_;
  std::vector<std::byte> openings_;  // to other nodes and from them, on the first rank of each of several
  std::array<Allocation, segments> from_banks_;  // after `peers_`, where what they use is counted
  std::uint32_t generation_ = 0;
  bool reducing_ = false;
  bool broken_ = false;
  Outcome node_sum_, result_;
  std::uint32_t posts_ = 0;
  std::array<Place, segments> places_{};
  std::uint64_t room_used_ = 0, room_end_ = 0;
  double spin_s_ = 0, storing_spin_s_ = 0, over_network_spin_s_ = 0;
  bool present_ = true;
  bool any_thread_ = false;  // may call MPI
};

/// Messages of any length, cut to what MPI can count: into so many.
std::size_t messages_for(std::uint64_t size) noexcept;
void send_bytes(const std::byte* data, std::uint64_t size, int to, int tag, MPI_Comm communicator,
                std::vector<MPI_Request>& requests);
void receive_bytes(std::byte* data, std::uint64_t size, int from, int tag, MPI_Comm communicator,
                   std::vector<MPI_Request>& requests);

}  // namespace weir

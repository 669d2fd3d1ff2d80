#pragma once

#include <map>
#include <optional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weir/weir.hpp>

#include "core/settings.hpp"
#include "engine/arena.hpp"
#include "engine/file_settings.hpp"
#include "engine/planning.hpp"
#include "machine/machine.hpp"

namespace weir {

/// Collective calls, so that ranks that call different ones can be told.
enum class Call : std::uint8_t { none, create, open, update, declare, step, finish, absorb, sync, close, save, load, drain, drop_out };
const char* name(Call call) noexcept;
/// Tells one collective call from another: what, on which of the context's files, with which plan.
inline std::uint64_t call_id(Call call, std::uint64_t object, std::uint64_t plan_serial = 0) noexcept {
  return static_cast<std::uint64_t>(call) << 56 | (plan_serial ? Team::moves_data : 0) | (plan_serial & 0x7fffff) << 32 |
         (object & 0xffffffff);
}

/// An error unless MPI can be called.
Status check_mpi();

struct Context::Impl {
  ResolvedSettings settings;
  std::shared_ptr<const Machine> machine;             ///< null when nothing is known of it; equal on all ranks
  std::shared_ptr<const Machine> seen;                ///< by this rank alone, for explanations
  bool trusts_figures = true;                         ///< of the machine: somebody described or measured them
  std::map<std::uint32_t, std::unique_ptr<MemoryBank>> banks;  ///< of the machine, by its index, those in use
  std::shared_ptr<const FileSettings> file_settings;  ///< of files that have no settings of their own
  std::shared_ptr<Team> team;
  std::optional<RemoteBank> remote;  ///< where settings name memory servers; before `arenas`, which use it
  std::vector<std::unique_ptr<Arena>> arenas;
  std::vector<std::shared_ptr<Step::Impl>> under_way;  ///< started steps, in the order of their start
  std::size_t steps = 0;                               ///< that exist: there is room for them all in `under_way`
  std::map<std::uint64_t, Plan> plans;                ///< by this rank's hash of declaration and circumstances
  std::uint64_t id = 0;  ///< random, the same on all ranks
  Status handicap;       ///< what this rank lacks for its next collective call, which it makes all the same to tell
  bool explains = false;  ///< WEIR_EXPLAIN: every finished step is explained on stderr
  std::uint64_t files = 0;
  std::uint64_t plan_count = 0;
  std::size_t unconfirmed = 0;  ///< files on whose opening the ranks have not agreed yet

  /// Whether buffers are mapped when the context is made, so that no step pays for them, or as they are used.
  enum class Buffers : std::uint8_t { mapped, mapped_later };
  static Result<std::shared_ptr<Impl>> make(MPI_Comm communicator, const Settings& given,
                                            Buffers buffers = Buffers::mapped);
  /// For programs that may never have much to move. Collective.
  static Result<Context> make_quickly(MPI_Comm communicator);
  /// Connects to the memory servers that settings name. Local.
  Status connect_remote();
  /// Makes a name for the job's regions that nobody else can guess. Collective.
  void name_regions();
  /// What all files share, and buffers for a first one. Collective.
  Status prepare(const Status& met, Buffers buffers);
  /// Takes the machine that settings describe; what the ranks must agree on goes into the outcome.
  Status describe(Outcome& outcome);
  /// Finds out what the machine is where settings ask for that, or for a bank of it, and on several nodes unless
  /// settings say otherwise. Collective.
  Status detect();
  struct Looking;
  std::shared_ptr<Looking> looking;
  Status look(const Looking& what);

  /// An error when ranks have made different calls before, so that nothing can be done together any more.
  [[nodiscard]] Status check_together() const noexcept;
  /// Begins a collective call: what this rank brings to its first agreement.
  Outcome enter(Call call, std::uint64_t object, std::uint64_t plan_serial = 0) noexcept;

  /// The same after completing started steps.
  Outcome begin(Call call, std::uint64_t object) noexcept;
  /// Completes started steps, then meets all other ranks: the same status everywhere.
  Status agree(Call call, std::uint64_t object, const Status& mine);
  [[nodiscard]] Status take_handicap() noexcept { return std::exchange(handicap, {}); }
  /// The same with more to tell.
  const Outcome& agree(Outcome outcome, Call call, std::uint64_t object);
  void drain() noexcept;
  /// Keeps only the newest plans, so that a program whose pieces are never the same does not fill its memory with them.
  void forget_plans() noexcept;
  /// For a rank that has no memory for something that the ranks do without meeting: the others, who cannot know, find
  /// out when they wait for it. Nothing can be done together any more.
  Status drop_out() noexcept;

  /// Buffers for one open file, best those that a plan has used; null when all are taken. The same on every rank.
  /// The banks in which this rank's buffers of a plan may lie, best first; none for ordinary memory.
  Result<std::vector<MemoryBank*>> banks_for(const Layout& layout, const ElectionRules& rules);
  /// The machine, or what can be seen of it from here now: for explanations on one node. Null when nothing can.
  std::shared_ptr<const Machine> machine_in_sight() noexcept;
  Result<std::unique_ptr<MemoryBank>> open_bank(std::uint32_t index);
  Arena* take_arena(std::uint64_t plan_serial = 0) noexcept;
  /// Buffer memory that other open files have taken of plan.memory.
  [[nodiscard]] std::uint64_t memory_in_use() const noexcept;
};

/// What the ranks agreed on, as a status; different calls become `Code::mismatch`.
Status agreed(const Outcome& outcome) noexcept;

}  // namespace weir

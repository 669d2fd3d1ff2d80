#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include <weir/declaration.hpp>
#include <weir/settings.hpp>
#include <weir/status.hpp>

/// Weir moves the data of MPI programs to and from files: declare, write or read, finish.
///
/// Calls marked collective are made by every rank of the context's communicator, in the same order, and return the
/// same code on every rank. One context is used by one thread at a time.
namespace weir {

/// What a step did, on this rank.
struct Report {
  std::uint64_t bytes = 0;                    ///< this rank's own data
  std::uint64_t stored_bytes = 0;             ///< this rank moved to or from storage, as an aggregator or directly
  std::uint64_t stored_while_aggregating = 0; ///< of these, while another buffer was being filled or drained
  std::uint64_t buffer_bytes = 0;             ///< aggregation buffers of this rank
  std::uint64_t list_bytes = 0;               ///< plan and piece lists of this rank
  std::uint64_t remote_bytes = 0;             ///< of this rank's own data, through memory servers
  std::uint64_t storage_calls = 0;
  std::uint64_t messages = 0;                 ///< sent to other nodes
  double plan_s = 0;                          ///< spent making the plan; 0 when it was reused
  double copy_s = 0;
  double storage_s = 0;
  double wait_s = 0;
  double meeting_s = 0;  ///< of wait_s, for the other ranks where all meet
  double leaving_s = 0;  ///< of meeting_s, after the last of them had come: what meeting costs
};

/// The schedule of a declaration: who aggregates what, when, with which memory. Cheap to copy.
class Plan {
 public:
  [[nodiscard]] std::uint64_t hash() const;    ///< equal on every rank
  [[nodiscard]] std::string text() const;      ///< every domain and window
  [[nodiscard]] std::string explain() const;   ///< in words: what was chosen and why
  /// Writes the whole plan to a file. Collective.
  Status save(const std::string& path) const;

  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_{std::move(impl)} {}
  [[nodiscard]] const std::shared_ptr<const Impl>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// One pass over a plan. Data given to `write` and `read` must stay where it is, untouched, until the step is finished.
class Step {
 public:
  /// Hands over one variable, in any order. Not collective; may move data, never waits for another rank.
  Status write(int variable, const void* data, std::uint64_t bytes);
  Status read(int variable, void* data, std::uint64_t bytes);

  template <std::ranges::contiguous_range R>
  Status write(int variable, const R& data) {
    return write(variable, std::ranges::data(data), std::ranges::size(data) * sizeof(std::ranges::range_value_t<R>));
  }
  template <std::ranges::contiguous_range R>
  Status read(int variable, R&& data) {
    return read(variable, std::ranges::data(data), std::ranges::size(data) * sizeof(std::ranges::range_value_t<R>));
  }

  /// Completes the step: all variables are accepted by the storage, or in their buffers. Collective.
  /// Afterwards the step can be used again for the next data of the same shape.
  Status finish();

  /// Non-blocking finish: `start` says that all variables are given, `test` makes progress and tells whether it is
  /// over, `wait` returns what `finish` would have. All collective; `test` need not be called equally often.
  Status start();
  [[nodiscard]] bool test();
  Status wait();

  /// With memory.tier=remote: returns when memory servers have all of the data, so that the program can go on and use its
  /// variables again. They are stored in the background, without MPI: `test` tells whether this rank has done its part,
  /// and `wait`, or closing the file, returns what `finish` would have. Until then what is absorbed is as safe as the
  /// servers are. Otherwise the same as `finish`. Collective.
  Status absorb();

  [[nodiscard]] std::string explain() const;  ///< the plan's explanation and what the last pass measured
  [[nodiscard]] Report report() const;        ///< of the last pass
  [[nodiscard]] Plan plan() const;

  struct Impl;
  explicit Step(std::shared_ptr<Impl> impl) : impl_{std::move(impl)} {}
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

/// A file, or a set of sub-files, opened by all ranks.
class File {
 public:
  /// Makes the plan, or finds the one that was made for an equal declaration. Collective.
  Result<Step> declare(const Declaration& declaration);
  /// A step of an existing plan, all offsets moved by `shift` bytes. Collective.
  Result<Step> step(const Plan& plan, std::uint64_t shift = 0);
  /// A step of the plan that the file was opened with.
  Result<Step> step(std::uint64_t shift = 0);

  /// What is accepted becomes durable: file and directory are synced. Collective.
  Status sync();
  /// Ends the file; a created one appears under its name only now. Collective. The destructor closes too, but cannot
  /// tell whether it went well.
  Status close();
  /// `last.finish()` and `close()` in one: the ranks meet once instead of twice. Collective.
  Status close(Step& last);

  struct Impl;
  explicit File(std::shared_ptr<Impl> impl) : impl_{std::move(impl)} {}
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

/// A file on its way from storage of the nodes to the file system, in the background: a thread on the first rank of each
/// node copies what that node has. MPI is not used meanwhile, and the program goes on as it likes.
class Drain {
 public:
  struct Progress {
    std::uint64_t done = 0, total = 0;  ///< bytes of this node
  };
  /// How far this node is; only the first rank of a node knows, others have 0 of 0. Not collective.
  [[nodiscard]] Progress progress() const;
  /// Whether this node is through, well or not. Not collective.
  [[nodiscard]] bool test() const;
  /// Waits for all nodes; then the file is durable under its name in the file system, or what was there before is
  /// untouched. Collective. A drain that nobody waits for is given up.
  Status wait();

  struct Impl;
  explicit Drain(std::shared_ptr<Impl> impl) : impl_{std::move(impl)} {}

 private:
  std::shared_ptr<Impl> impl_;
};

/// Weir on a communicator. Settings: defaults, then weir.toml, then WEIR_* in the environment, then those given here.
class Context {
 public:
  /// Collective. Throws `Error` when settings cannot be used; `make` returns it instead.
  explicit Context(MPI_Comm communicator, const Settings& settings = {});
  static Result<Context> make(MPI_Comm communicator, const Settings& settings = {});

  /// A new file for writing; what was under the name stays until `close` succeeds. Collective.
  Result<File> create(const std::string& path, const Settings& settings = {});
  /// An existing file for reading. Collective.
  Result<File> open(const std::string& path, const Settings& settings = {});
  /// An existing file for writing in place. Collective.
  Result<File> update(const std::string& path, const Settings& settings = {});

  /// The same for a file whose steps all have one plan, made earlier: the first `File::step()` then needs no
  /// communication (further ones only with several nodes), and opening itself may do without: what goes wrong is then
  /// told, to all ranks alike, by the step's `finish` or `close`. When it is that a rank has no memory even to take part,
  /// these say so, and the context cannot be used any more.
  Result<File> create(const std::string& path, const Plan& plan, const Settings& settings = {});
  Result<File> open(const std::string& path, const Plan& plan, const Settings& settings = {});
  Result<File> update(const std::string& path, const Plan& plan, const Settings& settings = {});

  /// Begins to copy a file that was made with storage.tier=node to the file system. Collective.
  Result<Drain> drain(const std::string& path, const Settings& settings = {});

  /// A plan saved earlier by as many ranks. Collective.
  Result<Plan> load_plan(const std::string& path);

  struct Impl;
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Context(std::shared_ptr<Impl> impl) : impl_{std::move(impl)} {}
  std::shared_ptr<Impl> impl_;
};

/// The size of a contiguous range in bytes.
template <std::ranges::contiguous_range R>
constexpr std::uint64_t bytes_of(const R& range) {
  return std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>);
}

/// "0.1.0"
const char* version() noexcept;

}  // namespace weir

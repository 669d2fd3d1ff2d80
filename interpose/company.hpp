#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>
#include <weir/weir.hpp>

#include "view.hpp"

namespace weir::interpose {

/// Plans that were made for patterns of pieces, wherever in a file.
class Patterns {
 public:
  /// What this rank brings to an access: `bytes` of a view, behind the first `before`.
  struct Part {
    const View* view;
    std::uint64_t before = 0, bytes = 0;
    View::Pattern pattern;  ///< with all else that a plan depends on
    Status problem;         ///< of any rank, comes back on all
  };
  /// A step, of a known plan where all ranks have one for their part; else of a new one. Its variables follow one
  /// another in memory. `scattered` comes back true on all ranks when it is so on any. Collective over the
  /// communicator.
  Result<Step> step(File& file, MPI_Comm communicator, const Part& part, bool& scattered);

 private:
  Result<std::optional<Step>> repeat(File& file, const Part& part, std::uint64_t& wishes);
  Result<Step> declare(File& file, const Part& part, std::span<const CommonCells> common);

  struct Known {
    std::weak_ptr<const Plan::Impl> plan;  // as long as the context keeps it
    std::uint64_t base = 0;                // from where on it was
  };
  std::map<std::uint64_t, Known> known_;
  std::size_t most_ = 64;  // before it is looked through for plans that are gone
};

/// The processes that open a file together. An open file has one to itself; the next file opened by the same processes
/// takes it over, with its plans.
struct Company {
  std::uint64_t id = 0;  ///< the same on all ranks
  MPI_Comm communicator = MPI_COMM_NULL;
  std::optional<Context> context;  ///< once there was something to move
  Patterns patterns;
  bool taken = false;

  /// Flag: the ranks' numbers are not the same.
  static constexpr std::uint64_t different = std::uint64_t{1} << 13;
  /// Finds or makes one. Any rank's `flags` come back on all. Collective over the communicator, an intracommunicator.
  static std::shared_ptr<Company> take(MPI_Comm communicator, std::uint64_t& flags, std::uint64_t number = 0);
  /// The context, made when it is first asked for. Collective.
  Result<Context*> weir();
  /// The first problem that a rank has, if any. Collective.
  Status agree(const Status& mine);
  /// With a context.
  [[nodiscard]] bool is_on_one_node() const noexcept;
  /// One rank does something when all others have arrived, and before any of them leaves. Collective, with a context.
  Status when_all_are_here(const std::function<Status()>& act);
  int rank() const noexcept;
};

}  // namespace weir::interpose

#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>
#include <weir/weir.hpp>

namespace weir::interpose {

/// Plans that were made for patterns of pieces, wherever in a file.
class Patterns {
 public:
  /// A step for these pieces, of a known plan where all ranks have one for it. `circumstances`: what else the plan depends
  /// on. An error of any rank's `mine` comes back on all. Collective.
  Result<Step> step(File& file, const std::vector<Run>& runs, std::uint64_t circumstances, const Status& mine);

 private:
  struct Known {
    std::weak_ptr<const Plan::Impl> plan;  // as long as the context keeps it
    std::uint64_t base = 0;                // where the first piece was
  };
  std::map<std::uint64_t, Known> known_;
};

/// The processes that open a file together. An open file has one to itself; the next file opened by the same processes
/// takes it over, with its plans.
struct Company {
  std::uint64_t id = 0;  ///< the same on all ranks
  MPI_Comm communicator = MPI_COMM_NULL;
  std::optional<Context> context;  ///< once there was something to move
  Patterns patterns;
  bool taken = false;

  /// Finds or makes one. Any rank's `flags` come back on all. Collective over the communicator, an intracommunicator.
  static std::shared_ptr<Company> take(MPI_Comm communicator, std::uint64_t& flags);
  /// The context, made when it is first asked for. Collective.
  Result<Context*> weir();
  int rank() const noexcept;
};

}  // namespace weir::interpose

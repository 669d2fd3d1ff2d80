#include "library_run.hpp"

#include <sstream>

#include "core/errors.hpp"
#include "worker_process.hpp"

namespace weir::sim {

LibraryRun run_library(const LibraryJob& job) {
  std::vector<std::string> words{job.machine, std::to_string(job.nodes), std::to_string(job.ranks_per_node), job.workload};
  for (const auto& [name, value] : job.parameters) words.push_back(name + "=" + value);
  for (const auto& [name, value] : job.settings) words.push_back(name + "=" + value);
  std::istringstream text{run_worker("weir-sim-library", words)};
  LibraryRun run;
  std::string word;
  text >> word >> run.plan >> word >> run.write_s >> word >> run.read_s;
  int resource = 0;
  for (std::uint64_t bytes = 0; text >> word >> resource >> bytes;) run.carried[resource] = bytes;
  if (run.carried.empty()) throw Error{problem(Code::internal, "the simulated library told nothing")};
  return run;
}

}  // namespace weir::sim

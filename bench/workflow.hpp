#pragma once

#include <functional>
#include <random>

#include "buffers.hpp"
#include "request.hpp"
#include "stopwatch.hpp"
#include "weir_mover.hpp"

namespace weir::bench {

/// A file goes from one job to the next on storage of the nodes, and to the file system in the background, side by side
/// with the same through the file system. Every byte is checked after every part.
class Workflow {
 public:
  /// Collective. `request.settings` has memory.node_directory.
  Workflow(MPI_Comm communicator, const Workload& workload, const Request& request);
  ~Workflow();
  Workflow(const Workflow&) = delete;
  Workflow& operator=(const Workflow&) = delete;

  using Progress = std::function<void(double)>;
  /// write, read and drain. Collective.
  std::vector<Measurement> run(const Progress& progress);

 private:
  /// One way for the file to go.
  struct Way {
    std::string name;
    Settings settings;
    WeirMover writer;
    std::optional<Context> reader;
  };
  Way way(const std::string& name, const Settings& more);
  double write(Way& way);
  double read(Way& way);
  double drain();
  void through_nodes(bool counts);
  void through_file_system(bool counts);
  void remove_file() const;
  /// The contents of the plain file.
  void check_file(Measurement& measurement);

  MPI_Comm communicator_, readers_ = MPI_COMM_NULL;
  const Workload& workload_;
  const Request& request_;
  Stopwatch stopwatch_;
  Buffers buffers_;
  Scene scene_;
  Settings node_settings_;
  Context drainer_;
  Way node_, file_system_, durable_;
  Measurement written_, read_, drained_;
  std::string reading_problem_;
  std::uint64_t seed_;
};

}  // namespace weir::bench

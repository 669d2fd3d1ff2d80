#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>
#include <weir/weir.hpp>

#include "bench_common.hpp"
#include "commands.hpp"
#include "core/units.hpp"
#include "mpi_session.hpp"

namespace weir::tools {
namespace {

struct DrainOptions {
  std::vector<std::string> files;
  std::string node_directory;
  std::string rate;
  bool keep = false;
};

/// How far all nodes are; true when all are through. Collective.
bool show_progress(const Drain& drain, const Progress& progress, const std::string& path, int rank) {
  const Drain::Progress own = drain.progress();
  std::uint64_t all[3] = {own.done, own.total, drain.test() ? 0U : 1U};
  MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    progress.show(fmt::format("{}: {} of {}", path, format_bytes(all[0]), format_bytes(all[1])),
                  all[1] == 0 ? 1 : static_cast<double>(all[0]) / static_cast<double>(all[1]));
  return all[2] == 0;
}

/// What went wrong, already told by rank 0. Collective.
Status drain_all(const DrainOptions& options) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Settings settings{{"storage.tier", "node"}};
  if (!options.node_directory.empty()) settings["memory.node_directory"] = options.node_directory;
  if (!options.rate.empty()) settings["drain.rate"] = options.rate;
  if (options.keep) settings["drain.keep"] = "yes";
  Result<Context> weir = Context::make(MPI_COMM_WORLD, settings);
  if (!weir) {
    if (rank == 0) fmt::print(stderr, "{}\n", weir.status().message());
    return weir.status();
  }
  Status worst;
  for (const std::string& path : options.files) {
    Result<Drain> drain = weir->drain(path);
    Status status = drain.status();
    if (drain) {
      const Progress progress;
      while (!show_progress(*drain, progress, path, rank)) std::this_thread::sleep_for(std::chrono::milliseconds{100});
      if (rank == 0) progress.clear();
      status = drain->wait();
    }
    if (rank == 0) {
      if (status)
        fmt::print("{}\n", path);
      else
        fmt::print(stderr, "{}\n", status.message());
    }
    if (!status) worst = status;
  }
  return worst;
}

}  // namespace

void add_drain(CLI::App& program) {
  static DrainOptions options;
  CLI::App* command = program.add_subcommand("drain", "copies files from storage of the nodes to the file system");
  command->add_option("file", options.files, "as the program named it that wrote it, with storage.tier=node")
      ->required()
      ->type_name("FILE");
  command->add_option("--node-dir", options.node_directory,
                      "where the nodes keep files (memory.node_directory of the settings when not given)");
  command->add_option("--rate", options.rate, "that each node copies in a second at most, such as 200MiB");
  command->add_flag("--keep", options.keep, "leave them on the nodes too, to be read there");
  command->footer(
      R"(It runs on the nodes that wrote the files, a rank or more on each, beside the program if that still runs:

  mpirun -n 4 --map-by ppr:1:node weir drain checkpoint.dat --node-dir /local/scratch

Every byte is checked against what its writer told of it. A file appears under its name when all of it is durable; then
it leaves the nodes. What is newer in the file system is not replaced. Drained files are listed on the standard output.

Exit codes: 0 done, 1 a file cannot be drained, 2 wrong use or settings.)");
  command->callback([] {
    const MpiSession session;
    const Status status = drain_all(options);
    if (!status) set_exit_code(status.code() == Code::settings ? 2 : 1);
  });
}

}  // namespace weir::tools

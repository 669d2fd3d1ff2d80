#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "collective.hpp"
#include "limits.hpp"
#include "model/election.hpp"
#include "resident_memory.hpp"
#include "three_ways.hpp"
#include "trial.hpp"
#include "weir_mover.hpp"
#include "workflow.hpp"

namespace weir::bench {
namespace {

/// The memory of a context from its beginning, at its peak, on the rank where it is largest.
struct MemoryUse {
  std::uint64_t peak_growth = 0;
  std::uint64_t buffers = 0;
  std::uint64_t lists = 0;
  std::uint64_t plan = 0;
  std::string problem;
};

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string all{text, static_cast<std::size_t>(length)};
  std::ranges::replace(all, '\t', ' ');
  return all.substr(0, all.find_first_of(",\n"));
}

void tell(MPI_Comm communicator, const std::string& phase, double done, std::vector<Measurement> measurements) {
  if (rank_of(communicator) != 0) return;
  const Answer answer{phase, done, std::move(measurements), mpi_library()};
  fmt::print("{}\n", nlohmann::json(answer).dump());
  std::fflush(stdout);
}

class Job {
 public:
  Job(MPI_Comm communicator, const Workload& workload, Request request)
      : communicator_{communicator},
        workload_{workload},
        request_{std::move(request)},
        trial_{communicator, workload, request_},
        native_{communicator, request_.settings} {
    if (request_.through_run) taken_over_ = mpiio_per_variable(trial_.scene(), request_.hints);
    if (request_.baseline == "posix") baselines_.push_back(posix_pieces());
    if (request_.baseline == "sketch") baselines_.push_back(sketch(workload.file_bytes));
    if (parse_strategy(request_.baseline) && request_.baseline != "weir")
      baselines_.push_back(
          std::make_unique<WeirMover>(communicator, merged(request_.settings, {{"plan.model", request_.baseline}}),
                                      "plan.model=" + request_.baseline));
    if (request_.baseline == "dram")
      baselines_.push_back(std::make_unique<WeirMover>(
          communicator, merged(request_.settings, {{"memory.tier", ""}, {"remote.contact", ""}}), "Weir in DRAM"));
    const bool mpiio = request_.baseline == "romio" || request_.baseline == "ompio";
    if (mpiio && request_.through_run) {
      baselines_.push_back(mpiio_per_variable(trial_.scene(), request_.hints, FileCalls::of_library()));
    } else if (mpiio) {
      baselines_.push_back(mpiio_per_variable(trial_.scene(), request_.hints));
      baselines_.push_back(mpiio_one_call(trial_.scene(), request_.hints));
    }
  }

  void run() {
    const double start = now();
    // What `weir run` has learnt of a pattern it keeps: there is no telling it to forget.
    const std::vector<StepKind> steps =
        request_.through_run ? std::vector{StepKind::repeated} : std::vector{StepKind::first, StepKind::repeated};
    const auto total = static_cast<double>(steps.size() * request_.operations.size());
    tell("limits", 0, {});
    const Limits limits = measure_limits(communicator_, trial_.scene().path, workload_.file_bytes, request_.existing);
    const double empty_s = trial_.empty_run();
    double done = 0;
    for (const std::string& operation_name : request_.operations) {
      const Operation operation = operation_name == "write" ? Operation::write : Operation::read;
      Comparison comparison{communicator_, trial_, weir(), formulations(), request_.seed};
      for (const StepKind step : steps) {
        const std::string phase = fmt::format("{} {}", operation_name, name(step));
        const double left_s = request_.budget_s - broadcast(communicator_, now() - start);
        const MemoryUse memory = request_.through_run ? MemoryUse{} : measure_memory(operation, step);
        Measurement measurement = comparison.measure(operation, step, request_.pairs, left_s / (total - done),
                                                     [&](double part) { tell(phase, (done + part) / total, {}); });
        if (!memory.problem.empty()) measurement.problems.push_back("weir: " + memory.problem);
        measurement.peak_memory_bytes = memory.peak_growth;
        measurement.buffer_bytes = memory.buffers;
        measurement.list_bytes = memory.lists;
        measurement.plan = memory.plan;
        measurement.memcpy_s = limits.memcpy_s;
        measurement.plain_s = operation == Operation::write ? limits.write_s : limits.read_s;
        measurement.empty_s = empty_s;
        tell(phase, ++done / total, {measurement});
      }
    }
  }

 private:
  Mover& weir() { return taken_over_ ? *taken_over_ : native_; }

  std::vector<Mover*> formulations() {
    std::vector<Mover*> list;
    for (const auto& baseline : baselines_) list.push_back(baseline.get());
    if (list.empty()) list.push_back(&weir());
    return list;
  }

  MemoryUse measure_memory(Operation operation, StepKind step) {
    const ResidentMemory memory;
    WeirMover fresh{communicator_, request_.settings};
    const std::string wrong = trial_.run(fresh, operation, step).problem;
    return {greatest(communicator_, memory.peak_growth()), greatest(communicator_, fresh.report().buffer_bytes),
            greatest(communicator_, fresh.report().list_bytes), fresh.plan_hash(), wrong};
  }

  void tell(const std::string& phase, double done, std::vector<Measurement> measurements) const {
    bench::tell(communicator_, phase, done, std::move(measurements));
  }

  MPI_Comm communicator_;
  const Workload& workload_;
  Request request_;
  Trial trial_;
  WeirMover native_;
  std::unique_ptr<Mover> taken_over_;  ///< the program's own calls
  std::vector<std::unique_ptr<Mover>> baselines_;
};

void run_job(MPI_Comm communicator) {
  std::string text;
  if (rank_of(communicator) == 0) text.assign(std::istreambuf_iterator<char>{std::cin}, {});
  const auto request = nlohmann::json::parse(broadcast(communicator, std::move(text))).get<Request>();
  const Workload workload = make_workload(request.workload, request.parameters, size_of(communicator)).value();
  if (request.baseline == "file-system") {
    const auto tell_progress = [&](double done) { tell(communicator, "workflow", done, {}); };
    tell(communicator, "workflow", 1, Workflow{communicator, workload, request}.run(tell_progress));
  } else if (request.baseline == "two-phase") {
    const auto tell_progress = [&](double done) { tell(communicator, "remote memory", done, {}); };
    tell(communicator, "remote memory", 1, ThreeWays{communicator, workload, request}.run(tell_progress));
  } else {
    Job{communicator, workload, request}.run();
  }
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    weir::bench::run_job(MPI_COMM_WORLD);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}

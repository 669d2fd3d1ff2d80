#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// What the tool asks of a job of `weir-bench-worker` on its standard input, and the job's answers, one JSON object a
/// line of its standard output.
namespace weir::bench {

struct Request {
  std::string workload;
  std::map<std::string, std::string> parameters;
  std::string baseline;  ///< "romio", "ompio", "posix", "sketch", "weir"; "file-system" in a workflow, "two-phase" for
                         ///< remote memory
  std::vector<std::string> operations;  ///< "write", "read"
  std::string directory;                ///< for the files
  bool existing = false;                ///< overwrite a file instead of making a new one
  int pairs = 15;
  double budget_s = 75;
  std::uint64_t seed = 1;
  std::map<std::string, std::string> settings;  ///< Weir's
  std::map<std::string, std::string> hints;     ///< MPI-IO's
  bool through_run = false;                     ///< both sides make calls of MPI-IO, which `weir run` has taken over
  int readers = 0;                              ///< in a workflow: ranks that read
  std::vector<std::string> devices_to_storage = {};  ///< of the network; each leads from a compute to a storage host
};

/// One operation and step against one baseline, measured.
struct Measurement {
  std::string operation;
  std::string step;                                           ///< "first", "repeated"
  std::string formulation;                                    ///< of the baseline, the fastest
  std::map<std::string, std::vector<double>> formulations_s;  ///< by block; one that was dropped has fewer
  std::vector<double> weir_s, baseline_s;                     ///< by pair
  std::vector<double> carried_bytes;  ///< on the link to a storage host that carried most for Weir, by pair; 0: unknown
  int warm_ups = 0;
  std::vector<std::string> problems;               ///< runs whose contents were wrong
  std::uint64_t peak_memory_bytes = 0;             ///< growth of the resident memory, of the rank where it is largest
  std::uint64_t buffer_bytes = 0, list_bytes = 0;  ///< as Weir reports them, of the rank where they are largest
  std::uint64_t plan = 0;                          ///< the hash of Weir's
  std::map<std::string, std::vector<double>> busy_s;  ///< of all processors, by name, where it was measured
  double memcpy_s = 0;                                ///< copying all bytes once in one process
  double plain_s = 0;                                 ///< one process writing or reading the whole file by plain calls
  double empty_s = 0;                                 ///< a run that moves nothing; part of both sides' times
  /// At meetings, and of that after the last had come: means of the ranks, by name.
  std::map<std::string, std::vector<double>> meeting_s, leaving_s;
};

struct Answer {
  std::string phase;  ///< what is being done
  double done = 0;    ///< 0 .. 1
  std::vector<Measurement> measurements;
  std::string mpi;  ///< the library's own words
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Request, workload, parameters, baseline, operations, directory, existing, pairs,
                                   budget_s, seed, settings, hints, through_run, readers, devices_to_storage)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measurement, operation, step, formulation, formulations_s, weir_s, baseline_s,
                                   carried_bytes, warm_ups, problems, peak_memory_bytes, buffer_bytes, list_bytes, plan,
                                   busy_s, memcpy_s, plain_s, empty_s, meeting_s, leaving_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Answer, phase, done, measurements, mpi)

}  // namespace weir::bench

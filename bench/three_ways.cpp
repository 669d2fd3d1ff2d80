#include "three_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "collective.hpp"
#include "limits.hpp"
#include "statistics.hpp"

namespace weir::bench {

namespace {

Settings with(Settings settings, const Settings& more) {
  settings["plan.mode"] = "aggregate";
  for (const auto& [key, value] : more) settings[key] = value;
  return settings;
}

}  // namespace

ThreeWays::ThreeWays(MPI_Comm communicator, const Workload& workload, const Request& request)
    : communicator_{communicator},
      request_{request},
      trial_{communicator, workload, request},
      ways_{WeirMover{communicator, with(request.settings, {{"memory.tier", "remote"}}), "asynchronous"},
            WeirMover{communicator,
                      with(request.settings, {{"memory.tier", "remote"}, {"remote.synchronous", "yes"}}),
                      "synchronous"},
            WeirMover{communicator, with(request.settings, {{"memory.tier", ""}, {"remote.contact", ""}}), "two-phase"}} {}

Measurement ThreeWays::measure(Operation operation, const Progress& progress) {
  constexpr int warm_ups = 1, least_blocks = 3;
  Measurement result;
  result.operation = name(operation);
  result.step = name(StepKind::repeated);
  result.formulation = "two-phase";
  result.warm_ups = warm_ups;
  std::mt19937_64 random{request_.seed};
  std::array<std::vector<double>, 3> times;
  std::vector<double> shares;
  const double start = now();
  const double budget_s = request_.budget_s / static_cast<double>(request_.operations.size());
  for (int block = 0; block < request_.pairs + warm_ups; ++block) {
    const double used = broadcast(communicator_, now() - start);
    if (block >= least_blocks + warm_ups && used / block * (block + 1) > budget_s) break;
    progress(static_cast<double>(block) / (request_.pairs + warm_ups));
    std::array<std::size_t, 3> order{0, 1, 2};
    std::ranges::shuffle(order, random);
    for (const std::size_t way : order) {
      const auto [seconds, problem] = trial_.run(ways_[way], operation, StepKind::repeated);
      if (!problem.empty()) result.problems.push_back(fmt::format("{}: {}", ways_[way].name(), problem));
      if (block < warm_ups) continue;
      times[way].push_back(seconds);
      if (way > 0) continue;
      const Report report = ways_[0].report();
      if (report.bytes > 0 && report.remote_bytes == 0) result.problems.push_back("it did not go through remote memory");
      double least_s = report.wait_s;
      MPI_Allreduce(MPI_IN_PLACE, &least_s, 1, MPI_DOUBLE, MPI_MIN, communicator_);
      shares.push_back(least_s / seconds);
    }
  }
  result.weir_s = times[0];
  result.baseline_s = times[2];
  for (std::size_t way = 1; way < ways_.size(); ++way) result.formulations_s[ways_[way].name()] = times[way];
  result.waiting_share = median(shares);
  return result;
}

std::vector<Measurement> ThreeWays::run(const Progress& progress) {
  std::vector<Measurement> all;
  for (const std::string& operation : request_.operations) {
    const auto so_far = static_cast<double>(all.size()), total = static_cast<double>(request_.operations.size());
    all.push_back(measure(operation == "write" ? Operation::write : Operation::read,
                          [&](double part) { progress((so_far + part) / total); }));
  }
  return all;
}

}  // namespace weir::bench

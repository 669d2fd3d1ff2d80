#include "three_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "collective.hpp"

namespace weir::bench {

namespace {

Settings with(const Settings& settings, const Settings& more) {
  return merged(merged(settings, {{"plan.mode", "aggregate"}}), more);
}

Settings without_servers(const Settings& settings) {
  return with(settings, {{"memory.tier", ""}, {"remote.contact", ""}});
}

}  // namespace

ThreeWays::ThreeWays(MPI_Comm communicator, const Workload& workload, const Request& request)
    : communicator_{communicator},
      request_{request},
      trial_{communicator, workload, request},
      asynchronous_{communicator, with(request.settings, {{"memory.tier", "remote"}}), "asynchronous"},
      synchronous_{communicator, with(request.settings, {{"memory.tier", "remote"}, {"remote.synchronous", "yes"}}),
                   "synchronous"},
      two_phase_{communicator, without_servers(request.settings), "two-phase"},
      absorbed_{communicator, with(request.settings, {{"memory.tier", "remote"}, {"storage.durability", "durable"}}),
                "absorbed", WeirMover::Ends::absorbed},
      durable_{communicator, with(without_servers(request.settings), {{"storage.durability", "durable"}}),
               "two-phase, durable"} {}

Measurement ThreeWays::measure(Operation operation, const Ways& ways, const Progress& progress) {
  constexpr int warm_ups = 1, least_blocks = 3;
  Measurement result;
  result.operation = name(operation);
  result.step = name(StepKind::repeated);
  result.formulation = ways.back()->name();
  result.warm_ups = warm_ups;
  std::mt19937_64 random{request_.seed};
  std::vector<std::vector<double>> times(ways.size());
  const double start = now();
  const double budget_s = request_.budget_s / static_cast<double>(request_.operations.size() + 1);
  for (int block = 0; block < request_.pairs + warm_ups; ++block) {
    const double used = broadcast(communicator_, now() - start);
    if (block >= least_blocks + warm_ups && used / block * (block + 1) > budget_s) break;
    progress(static_cast<double>(block) / (request_.pairs + warm_ups));
    std::vector<std::size_t> order(ways.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::shuffle(order, random);
    for (const std::size_t way : order) {
      const Trial::Outcome run = trial_.run(*ways[way], operation, StepKind::repeated);
      if (!run.problem.empty()) result.problems.push_back(fmt::format("{}: {}", ways[way]->name(), run.problem));
      if (block < warm_ups) continue;
      times[way].push_back(run.seconds);
      result.busy_s[ways[way]->name()].push_back(run.busy_s);
      const Report report = ways[way]->report();
      if (ways[way] != ways.back() && report.bytes > 0 && report.remote_bytes == 0)
        result.problems.push_back(fmt::format("{}: it did not go through remote memory", ways[way]->name()));
      const double own_s[2] = {report.meeting_s, report.leaving_s};
      double sum_s[2] = {};
      MPI_Allreduce(own_s, sum_s, 2, MPI_DOUBLE, MPI_SUM, communicator_);
      result.meeting_s[ways[way]->name()].push_back(sum_s[0] / size_of(communicator_));
      result.leaving_s[ways[way]->name()].push_back(sum_s[1] / size_of(communicator_));
    }
  }
  result.weir_s = times.front();
  result.baseline_s = times.back();
  for (std::size_t way = 1; way < ways.size(); ++way) result.formulations_s[ways[way]->name()] = times[way];
  return result;
}

std::vector<Measurement> ThreeWays::run(const Progress& progress) {
  std::vector<Measurement> all;
  const auto next = [&](Operation operation, const Ways& ways) {
    const auto so_far = static_cast<double>(all.size()), total = static_cast<double>(request_.operations.size() + 1);
    all.push_back(measure(operation, ways, [&](double part) { progress((so_far + part) / total); }));
  };
  for (const std::string& operation : request_.operations)
    next(operation == "write" ? Operation::write : Operation::read, {&asynchronous_, &synchronous_, &two_phase_});
  next(Operation::write, {&absorbed_, &durable_});
  all.back().operation = "absorb";
  return all;
}

}  // namespace weir::bench

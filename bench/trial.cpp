#include "trial.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "collective.hpp"
#include "core/errors.hpp"
#include "file_check.hpp"
#include "statistics.hpp"

namespace weir::bench {

namespace {

/// Of all processors of this machine since it started, whoever used them; the kernel tells hundredths of a second.
double busy_seconds() {
  std::ifstream file{"/proc/uptime"};
  double up_s = 0, idle_s = 0;
  file >> up_s >> idle_s;
  return up_s * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)) - idle_s;
}

/// Bytes that have passed the one of these devices that this host has; 0 where it has none.
std::uint64_t bytes_carried(const std::vector<std::string>& devices, Operation operation) {
  if (devices.empty()) return 0;
  constexpr int received = 0, sent = 8;  // columns
  std::ifstream file{"/proc/net/dev"};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    std::string name;
    words >> name;
    if (name.empty() || std::ranges::find(devices, name.substr(0, name.size() - 1)) == devices.end()) continue;
    std::uint64_t bytes = 0;
    for (int column = 0; column <= (operation == Operation::write ? sent : received); ++column) words >> bytes;
    return bytes;
  }
  return 0;
}

}  // namespace

const char* name(Operation operation) { return operation == Operation::write ? "write" : "read"; }
const char* name(StepKind step) { return step == StepKind::first ? "first" : "repeated"; }

Trial::Trial(MPI_Comm communicator, const Workload& workload, const Request& request)
    : communicator_{communicator},
      stopwatch_{communicator},
      buffers_{workload.part(rank_of(communicator))},
      scene_{communicator, buffers_, request.directory + "/data", request.existing},
      devices_to_storage_{request.devices_to_storage},
      file_bytes_{workload.file_bytes},
      seed_{request.seed} {}

void Trial::put_contents() {
  contents_ = ++seed_;
  file_there_ = true;
  write_contents(communicator_, scene_.path, file_bytes_, contents_);
  const std::string problem = check_contents(communicator_, scene_.path, file_bytes_, contents_);
  if (!problem.empty()) throw Error{weir::problem(Code::io, "cannot prepare the file: " + problem)};
}

void Trial::lay_out(Operation operation) {
  if (operation == Operation::read) {
    buffers_.poison();
    return;
  }
  buffers_.fill(++seed_);
  contents_ = 0;
  if (!scene_.existing && rank_of(communicator_) == 0) ::unlink(scene_.path.c_str());
}

Trial::Outcome Trial::run(Mover& mover, Operation operation, StepKind step) {
  if (operation == Operation::read && contents_ == 0) put_contents();
  if (operation == Operation::write && scene_.existing && !file_there_) put_contents();
  mover.prepare(scene_, operation, step);
  lay_out(operation);
  const double before_s = busy_seconds();
  const std::uint64_t before_bytes = bytes_carried(devices_to_storage_, operation);
  const double seconds = stopwatch_.time([&] { mover.move(scene_, operation); });
  const double busy_s = broadcast(communicator_, busy_seconds() - before_s);
  const std::uint64_t carried = greatest(communicator_, bytes_carried(devices_to_storage_, operation) - before_bytes);
  mover.settle();
  return {seconds,
          operation == Operation::write ? check_contents(communicator_, scene_.path, file_bytes_, seed_)
                                        : first_of(communicator_, buffers_.check(contents_)),
          busy_s, static_cast<double>(carried)};
}

double Trial::empty_run() {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) times.push_back(stopwatch_.time([] {}));
  return median(times);
}

Comparison::Comparison(MPI_Comm communicator, Trial& trial, Mover& weir, std::vector<Mover*> formulations,
                       std::uint64_t seed)
    : communicator_{communicator}, trial_{trial}, weir_{weir}, formulations_{std::move(formulations)}, random_{seed} {}

Trial::Outcome Comparison::timed(Mover& mover, Measurement& result, Operation operation, StepKind step) {
  const Trial::Outcome outcome = trial_.run(mover, operation, step);
  if (!outcome.problem.empty()) result.problems.push_back(fmt::format("{}: {}", mover.name(), outcome.problem));
  return outcome;
}

double Comparison::drop_hopeless(Times& times) {
  constexpr double hopeless = 3;  // its fastest run took so many times the slowest of another
  double saved_s = 0;
  for (std::size_t f = formulations_.size(); f-- > 0;) {
    const double fastest = std::ranges::min(times[f]);
    if (std::ranges::none_of(times, [&](const auto& other) { return fastest > hopeless * std::ranges::max(other); }))
      continue;
    saved_s += times[f].back();
    dropped_[formulations_[f]->name()] = times[f];
    formulations_.erase(formulations_.begin() + static_cast<std::ptrdiff_t>(f));
    times.erase(times.begin() + static_cast<std::ptrdiff_t>(f));
  }
  return saved_s;
}

Measurement Comparison::measure(Operation operation, StepKind step, int pairs, double budget_s,
                                const Progress& progress) {
  constexpr int least_pairs = 3;
  const double start = now();
  Measurement result;
  result.operation = name(operation);
  result.step = name(step);
  result.warm_ups = 2;

  Times times(formulations_.size());
  double used = 0;
  double block_s = 0;
  for (int done = 0;; ++done) {
    const double before = used;
    used = broadcast(communicator_, now() - start);
    block_s = used - before;
    const bool short_of_time = used + block_s * (pairs + result.warm_ups - done) > budget_s;
    if (done > 0 && short_of_time) block_s -= drop_hopeless(times);
    if (done < result.warm_ups && used + block_s * (least_pairs + 1) > budget_s) result.warm_ups = done;
    const int counted = done - result.warm_ups;
    if (counted >= pairs || (counted >= least_pairs && used + block_s > budget_s)) break;
    progress(static_cast<double>(done) / (pairs + result.warm_ups));

    std::vector<std::size_t> order(formulations_.size() + 1);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::shuffle(order, random_);
    for (const std::size_t next : order) {
      const bool weir = next == formulations_.size();
      const Trial::Outcome outcome = timed(weir ? weir_ : *formulations_[next], result, operation, step);
      (weir ? result.weir_s : times[next]).push_back(outcome.seconds);
      if (weir) result.carried_bytes.push_back(outcome.carried_bytes);
    }
  }

  const auto without_warm_ups = [&](std::vector<double>& list) {
    list.erase(list.begin(), list.begin() + result.warm_ups);
  };
  without_warm_ups(result.weir_s);
  without_warm_ups(result.carried_bytes);
  std::ranges::for_each(times, without_warm_ups);
  result.formulations_s = dropped_;
  for (std::size_t f = 0; f < formulations_.size(); ++f) result.formulations_s[formulations_[f]->name()] = times[f];
  const auto best = std::ranges::min_element(times, {}, [](const auto& list) { return median(list); });
  result.baseline_s = *best;
  result.formulation = formulations_[static_cast<std::size_t>(best - times.begin())]->name();
  return result;
}

}  // namespace weir::bench

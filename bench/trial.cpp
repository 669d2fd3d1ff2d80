#include "trial.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "collective.hpp"
#include "core/errors.hpp"
#include "file_check.hpp"
#include "statistics.hpp"

namespace weir::bench {

const char* name(Operation operation) { return operation == Operation::write ? "write" : "read"; }
const char* name(StepKind step) { return step == StepKind::first ? "first" : "repeated"; }

Trial::Trial(MPI_Comm communicator, const Workload& workload, const Request& request)
    : communicator_{communicator},
      buffers_{workload.part(rank_of(communicator))},
      scene_{communicator, buffers_, request.directory + "/data", request.existing},
      file_bytes_{workload.file_bytes},
      seed_{request.seed} {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  one_clock_ = greatest(communicator, static_cast<std::uint64_t>(size_of(communicator) - size_of(node))) == 0;
  MPI_Comm_free(&node);
}

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
  const double seconds = timed([&] { mover.move(scene_, operation); });
  return {seconds, operation == Operation::write ? check_contents(communicator_, scene_.path, file_bytes_, seed_)
                                                 : first_of(communicator_, buffers_.check(contents_))};
}

double Trial::empty_run() {
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) times.push_back(timed([] {}));
  return median(times);
}

double Trial::timed(const std::function<void()>& work) {
  // Where ranks share cores, the sleep lets those that were kept waiting catch up, so that all leave the barrier soon
  // after one another.
  MPI_Barrier(communicator_);
  std::this_thread::sleep_for(std::chrono::milliseconds{2});
  MPI_Barrier(communicator_);
  const double start = now();
  work();
  if (!one_clock_) MPI_Barrier(communicator_);
  const double end = now();
  double times[2] = {one_clock_ ? -start : 0, one_clock_ ? end : end - start};
  MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, communicator_);
  return times[0] + times[1];
}

Comparison::Comparison(MPI_Comm communicator, Trial& trial, Mover& weir, std::vector<Mover*> formulations,
                       std::uint64_t seed)
    : communicator_{communicator},
      trial_{trial},
      weir_{weir},
      formulations_{std::move(formulations)},
      random_{seed} {}

double Comparison::timed(Mover& mover, Measurement& result, Operation operation, StepKind step) {
  const auto [seconds, problem] = trial_.run(mover, operation, step);
  if (!problem.empty()) result.problems.push_back(fmt::format("{}: {}", mover.name(), problem));
  return seconds;
}

Mover& Comparison::choose(Measurement& result, Operation operation, StepKind step, double budget_s) {
  constexpr int runs = 3;
  constexpr double hopeless = 3;  // a formulation so many times slower than the fastest is not tried again
  std::vector<std::vector<double>> times(formulations_.size());
  const auto best = [&] {
    double fastest = median(times.front());
    for (const auto& list : times) fastest = std::min(fastest, median(list));
    return fastest;
  };
  const double start = now();
  for (int i = 0; i < runs && formulations_.size() > 1; ++i) {
    if (i > 0 && broadcast(communicator_, now() - start) > budget_s / 4) break;
    for (std::size_t f = 0; f < formulations_.size(); ++f)
      times[f].push_back(timed(*formulations_[f], result, operation, step));
    for (std::size_t f = formulations_.size(); f-- > 0;) {
      result.pretrial_s[formulations_[f]->name()] = median(times[f]);
      if (median(times[f]) <= hopeless * best()) continue;
      formulations_.erase(formulations_.begin() + static_cast<std::ptrdiff_t>(f));
      times.erase(times.begin() + static_cast<std::ptrdiff_t>(f));
    }
  }
  const auto slower = [&](const auto& a, const auto& b) { return median(a) < median(b); };
  return *formulations_[static_cast<std::size_t>(std::ranges::min_element(times, slower) - times.begin())];
}

Measurement Comparison::measure(Operation operation, StepKind step, int pairs, double budget_s,
                                const Progress& progress) {
  constexpr int least_pairs = 3;
  const double start = now();
  const auto elapsed = [&] { return broadcast(communicator_, now() - start); };

  Measurement result;
  result.operation = name(operation);
  result.step = name(step);
  result.warm_ups = 2;
  Mover& baseline = choose(result, operation, step, budget_s);
  result.formulation = baseline.name();

  const double chosen_after = elapsed();
  for (int done = 0;; ++done) {
    const double used = elapsed();
    const double a_pair = done > 0 ? (used - chosen_after) / done : 0;
    // The pre-trial was a warm-up, too, so that none is left when time is short.
    if (done < result.warm_ups && used + a_pair * (least_pairs + 1) > budget_s) result.warm_ups = done;
    const int counted = done - result.warm_ups;
    if (counted >= pairs || (counted >= least_pairs && used + a_pair > budget_s)) break;
    progress(static_cast<double>(done) / (pairs + result.warm_ups));

    const bool weir_first = random_() % 2 == 0;
    double weir_s = weir_first ? timed(weir_, result, operation, step) : 0;
    const double baseline_s = timed(baseline, result, operation, step);
    if (!weir_first) weir_s = timed(weir_, result, operation, step);
    if (counted < 0) continue;
    result.weir_s.push_back(weir_s);
    result.baseline_s.push_back(baseline_s);
  }
  return result;
}

}  // namespace weir::bench

#include "workflow.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "collective.hpp"
#include "contents.hpp"
#include "file_check.hpp"
#include "limits.hpp"

namespace weir::bench {

namespace {

/// Whether a rank is one of `readers` that are spread over all.
bool reads(int rank, int ranks, int readers) { return (rank + 1) * readers / ranks > rank * readers / ranks; }

/// With pretended nodes the readers are on as many.
Settings for_readers(Settings settings, int ranks, int readers) {
  const auto found = settings.find("machine.ranks_per_node");
  if (found == settings.end()) return settings;
  const int nodes = (ranks + std::stoi(found->second) - 1) / std::stoi(found->second);
  found->second = std::to_string((readers + nodes - 1) / nodes);
  return settings;
}

Measurement begun(const char* operation) {
  Measurement measurement;
  measurement.operation = operation;
  measurement.step = "repeated";
  measurement.formulation = "the same without the nodes";
  measurement.warm_ups = 1;
  return measurement;
}

}  // namespace

Workflow::Workflow(MPI_Comm communicator, const Workload& workload, const Request& request)
    : communicator_{communicator},
      workload_{workload},
      request_{request},
      stopwatch_{communicator},
      buffers_{workload.part(rank_of(communicator))},
      scene_{communicator, buffers_, request.directory + "/data", false},
      node_settings_{merged(request.settings, {{"storage.tier", "node"}})},
      drainer_{communicator, node_settings_},
      node_{way("node", {{"storage.tier", "node"}})},
      file_system_{way("file system", {})},
      durable_{way("file system, durable", {{"storage.durability", "durable"}})},
      written_{begun("write")},
      read_{begun("read")},
      drained_{begun("drain")},
      seed_{request.seed} {
  const int rank = rank_of(communicator), ranks = size_of(communicator);
  MPI_Comm_split(communicator, reads(rank, ranks, request.readers) ? 0 : MPI_UNDEFINED, rank, &readers_);
  if (readers_ == MPI_COMM_NULL) return;
  for (Way* way : {&node_, &file_system_})
    way->reader.emplace(readers_, for_readers(way->settings, ranks, request.readers));
}

Workflow::~Workflow() {
  for (Way* way : {&node_, &file_system_}) way->reader.reset();
  if (readers_ != MPI_COMM_NULL) MPI_Comm_free(&readers_);
}

Workflow::Way Workflow::way(const std::string& name, const Settings& more) {
  Settings settings = merged(request_.settings, more);
  return {name, settings, WeirMover{communicator_, settings}, {}};
}

double Workflow::write(Way& way) {
  way.writer.prepare(scene_, Operation::write, StepKind::repeated);
  buffers_.fill(++seed_);
  return stopwatch_.time([&] { way.writer.move(scene_, Operation::write); });
}

double Workflow::read(Way& way) {
  std::vector<std::byte> data;
  std::uint64_t begin = 0;
  if (readers_ != MPI_COMM_NULL) {
    const auto reader = static_cast<std::uint64_t>(rank_of(readers_)),
               readers = static_cast<std::uint64_t>(size_of(readers_));
    begin = workload_.file_bytes * reader / readers;
    data.resize(workload_.file_bytes * (reader + 1) / readers - begin);
  }
  const double seconds = stopwatch_.time([&] {
    if (readers_ == MPI_COMM_NULL) return;
    File file = way.reader->open(scene_.path).value();
    Step step = file.declare(Declaration{{begin, data.size(), 0, 1}}).value();
    step.read(0, data).value();
    file.close(step).value();
  });
  std::string problem;
  if (const auto wrong = first_difference(data, begin, seed_))
    problem = fmt::format("{}: wrong from byte {} on", way.name, *wrong);
  reading_problem_ = first_of(communicator_, problem);
  if (!reading_problem_.empty()) read_.problems.push_back(reading_problem_);
  return seconds;
}

double Workflow::drain() {
  return stopwatch_.time([&] { drainer_.drain(scene_.path).value().wait().value(); });
}

void Workflow::remove_file() const {
  MPI_Barrier(communicator_);
  if (rank_of(communicator_) == 0) ::unlink(scene_.path.c_str());
  MPI_Barrier(communicator_);
}

void Workflow::check_file(Measurement& measurement) {
  const std::string problem = check_contents(communicator_, scene_.path, workload_.file_bytes, seed_);
  if (!problem.empty()) measurement.problems.push_back(problem);
  remove_file();
}

void Workflow::through_nodes(bool counts) {
  const double write_s = write(node_), read_s = read(node_), drain_s = drain();
  check_file(drained_);
  if (!reading_problem_.empty()) written_.problems.push_back(reading_problem_);
  if (!counts) return;
  written_.weir_s.push_back(write_s);
  read_.weir_s.push_back(read_s);
  drained_.weir_s.push_back(drain_s);
}

void Workflow::through_file_system(bool counts) {
  const double write_s = write(file_system_), read_s = read(file_system_);
  check_file(written_);
  const double durable_s = write(durable_);
  check_file(drained_);
  if (!counts) return;
  written_.baseline_s.push_back(write_s);
  read_.baseline_s.push_back(read_s);
  drained_.baseline_s.push_back(durable_s);
}

std::vector<Measurement> Workflow::run(const Progress& progress) {
  constexpr int least_pairs = 3;
  const std::string here = request_.settings.at("memory.node_directory");
  const Limits limits =
      measure_limits(communicator_, here.substr(0, here.find("/{node}")) + "/limit", workload_.file_bytes, false);
  std::mt19937_64 random{request_.seed};
  const double start = now();
  remove_file();
  // The first pair is not counted: it makes the plans.
  for (int pair = 0; pair <= request_.pairs; ++pair) {
    const double used = broadcast(communicator_, now() - start);
    if (pair > least_pairs && used / pair * (pair + 1) > request_.budget_s) break;
    progress(static_cast<double>(pair) / (request_.pairs + 1));
    const bool nodes_first = random() % 2 == 0;
    if (nodes_first) through_nodes(pair > 0);
    through_file_system(pair > 0);
    if (!nodes_first) through_nodes(pair > 0);
  }
  for (Measurement* measurement : {&written_, &read_, &drained_}) {
    measurement->formulations_s[measurement->formulation] = measurement->baseline_s;
    measurement->memcpy_s = limits.memcpy_s;
    measurement->plain_s = measurement == &read_ ? limits.read_s : limits.write_s;
  }
  return {written_, read_, drained_};
}

}  // namespace weir::bench

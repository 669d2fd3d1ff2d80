#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>
#include <weir/weir.hpp>

#include "buffers.hpp"
#include "core/errors.hpp"
#include "engine/channel.hpp"
#include "machine/stored.hpp"
#include "simulated_storage.hpp"
#include "storage/make_storage.hpp"
#include "waiting.hpp"
#include "workload.hpp"

namespace simgrid::smpi::colls {
void set_collectives();
}

/// The library itself, with its own messages, on a simulated machine: ranks are actors, MPI is SimGrid's, and the file
/// system is at the end of the machine's links. A program of its own, as `weir sim` is linked with another MPI.
namespace weir::sim {
namespace {

namespace s4u = simgrid::s4u;

constexpr const char* path = "/simulated/data";
constexpr std::uint64_t seed = 7;

struct Request {
  std::string machine;
  int nodes = 1, ranks_per_node = 1;
  std::string workload;
  bench::Parameters parameters;
  Settings settings;
};

/// What rank 0 saw.
struct Outcome {
  double write_s = 0, read_s = 0;  ///< of a step that was planned before
  std::uint64_t plan = 0;
  std::map<int, std::uint64_t> written;  ///< bytes by resource, of one step that writes
};

struct Simulation {
  SimulatedMachine* machine = nullptr;
  int ranks_per_node = 1;
  const bench::Workload* workload = nullptr;
  Settings settings;
  Outcome outcome;
  std::string wrong;

  [[nodiscard]] s4u::Host* node_of(int rank) const { return machine->node(rank / ranks_per_node); }
};
Simulation simulation;

/// One planned before, from a meeting of all ranks to the next.
double timed(const std::function<Status()>& pass) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = s4u::Engine::get_clock();
  if (const Status status = pass(); !status) throw Error{status};
  MPI_Barrier(MPI_COMM_WORLD);
  return s4u::Engine::get_clock() - start;
}

void write_and_read(int rank) {
  Context weir{MPI_COMM_WORLD, simulation.settings};
  bench::Buffers buffers{simulation.workload->part(rank)};
  const Declaration declared = bench::declaration(buffers.part());
  const auto give = [&](Step& step) -> Status {
    for (std::size_t v = 0; v < buffers.variables(); ++v)
      if (Status status = step.write(static_cast<int>(v), buffers.data(v), buffers.bytes(v)); !status) return status;
    return step.finish();
  };
  const auto take = [&](Step& step) -> Status {
    for (std::size_t v = 0; v < buffers.variables(); ++v)
      if (Status status = step.read(static_cast<int>(v), buffers.data(v), buffers.bytes(v)); !status) return status;
    return step.finish();
  };
  File created = weir.create(path).value();
  Step writing = created.declare(declared).value();
  buffers.fill(seed + 1);
  if (const Status status = give(writing); !status) throw Error{status};
  buffers.fill(seed);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto before = simulation.machine->bytes_by_resource();
  const double write_s = timed([&] { return give(writing); });
  if (rank == 0) {
    simulation.outcome.plan = writing.plan().hash();
    for (const auto& [resource, bytes] : simulation.machine->bytes_by_resource()) {
      const auto then = before.find(resource);
      simulation.outcome.written[resource] = bytes - (then == before.end() ? 0 : then->second);
    }
  }
  if (const Status status = created.close(); !status) throw Error{status};
  File opened = weir.open(path).value();
  Step reading = opened.declare(declared).value();
  if (const Status status = take(reading); !status) throw Error{status};
  buffers.poison();
  const double read_s = timed([&] { return take(reading); });
  if (const std::string wrong = buffers.check(seed); !wrong.empty())
    simulation.wrong = fmt::format("rank {}: {}", rank, wrong);
  if (const Status status = opened.close(); !status) throw Error{status};
  if (rank == 0) simulation.outcome.write_s = write_s, simulation.outcome.read_s = read_s;
}

void rank_main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    write_and_read(rank);
  } catch (const std::exception& error) {
    simulation.wrong = error.what();
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}

Request request_from(int argc, char** argv) {
  if (argc < 5)
    throw Error{problem(Code::invalid, "too few words",
                        "weir-sim-library MACHINE NODES RANKS_A_NODE WORKLOAD [parameter=value ...] [setting.name=value ...]; "
                        "`weir sim` starts this program")};
  Request request{argv[1], std::stoi(argv[2]), std::stoi(argv[3]), argv[4], {}, {}};
  for (int k = 5; k < argc; ++k) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == word.npos ? "" : word.substr(equals + 1);
    (key.find('.') == key.npos ? static_cast<std::map<std::string, std::string>&>(request.parameters)
                               : request.settings)[key] = value;
  }
  return request;
}

void simulate(const Request& request) {
  const char* words[] = {"weir-sim-library",
                         "--cfg=network/model:CM02",
                         "--cfg=network/crosstraffic:0",
                         "--cfg=network/TCP-gamma:0",
                         "--cfg=surf/precision:1e-9",
                         "--log=root.thresh:warning"};
  int count = std::size(words);
  s4u::Engine engine{&count, const_cast<char**>(words)};
  const Machine machine = find_machine(request.machine).value();
  auto* simulated = new SimulatedMachine{machine};  // the engine's from now on
  const int ranks = request.nodes * request.ranks_per_node;
  const bench::Workload workload = bench::make_workload(request.workload, request.parameters, ranks).value();
  const auto files = std::make_shared<MemoryStorageSystem::Files>();
  replace_storage_kind("posix", [=](Async) { return simulated_storage(*simulated, files); });
  simulation.machine = simulated;
  simulation.ranks_per_node = request.ranks_per_node;
  simulation.workload = &workload;
  simulation.settings = request.settings;
  simulation.settings["exchange.between_nodes"] = "two-sided";  // SimGrid's windows lose data at times
  simulation.settings["storage.replace"] = "no";  // names are not those of a real file system
  simulation.settings["machine.description"] = request.machine;
  simulation.settings["machine.ranks_per_node"] = std::to_string(request.ranks_per_node);

  SMPI_app_instance_register("weir", rank_main, ranks);
  SMPI_init();
  for (const char* setting : {"smpi/simulate-computation:no", "smpi/test:1e-9", "smpi/os:0:0:0", "smpi/or:0:0:0",
                              "smpi/ois:0:0:0", "smpi/privatization:no", "smpi/coll-selector:ompi"})
    s4u::Engine::set_config(setting);
  simgrid::smpi::colls::set_collectives();  // again: SMPI_init has done it before there was a setting to look at
  for (int rank = 0; rank < ranks; ++rank) {
    prepare_waiting(simulation.node_of(rank));
    auto actor = s4u::Actor::init(fmt::format("rank {}", rank), simulation.node_of(rank));
    actor->set_property("instance_id", "weir");
    actor->set_property("rank", std::to_string(rank));
    actor->start([] {
      std::string name = "weir";
      char* words[] = {name.data(), nullptr};
      rank_main(1, words);
    });
  }
  engine.run();
  SMPI_finalize();
  if (!simulation.wrong.empty()) throw Error{problem(Code::internal, simulation.wrong)};
  const Outcome& outcome = simulation.outcome;
  fmt::print("plan {}\nwrite_s {:.9f}\nread_s {:.9f}\n", outcome.plan, outcome.write_s, outcome.read_s);
  for (const auto& [resource, bytes] : outcome.written) fmt::print("resource {} {}\n", resource, bytes);
}

}  // namespace
}  // namespace weir::sim

/// Parcels between nodes, from exchange/link.cpp, are counted without their trailers.
extern "C" int weir_sim_isend(const void* data, int size, MPI_Datatype type, int peer, int tag, MPI_Comm communicator,
                              MPI_Request* request) {
  using weir::sim::simulation;
  simulation.machine->carried(simgrid::s4u::this_actor::get_host(), simulation.node_of(peer),
                              static_cast<std::uint64_t>(size) - weir::chunk_trailer);
  return MPI_Isend(data, size, type, peer, tag, communicator, request);
}

int main(int argc, char** argv) {
  try {
    weir::sim::simulate(weir::sim::request_from(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "commands.hpp"
#include "core/errors.hpp"
#include "machine/description.hpp"
#include "machine/machine_text.hpp"
#include "machine/stored.hpp"
#include "machine_json.hpp"
#include "this_machine.hpp"

namespace weir::tools {
namespace {

struct MachineOptions {
  std::vector<std::string> words;
  std::string save;
  bool json = false;
  bool list = false;
  Look look;
};

Status save(const Machine& machine, const std::string& path) {
  const std::string text = write_machine(machine);
  if (path == "-") return fmt::print("{}", text), Status{};
  errno = 0;
  std::ofstream file{path};
  file << text;
  file.close();
  return file ? Status{} : system_problem(errno ? errno : EIO, fmt::format("write '{}'", path));
}

Status list(bool json) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  if (!json) fmt::print("{:<12} {:>7}  {:<10} about\n", "name", "nodes", "topology");
  for (const StoredMachine& stored : stored_machines()) {
    Result<Machine> machine = stored_machine(stored.name);
    if (!machine) return machine.status();
    if (json)
      entries.push_back({{"name", stored.name}, {"nodes", machine->nodes()}, {"about", machine->about}});
    else
      fmt::print("{:<12} {:>7}  {:<10} {}\n", stored.name, machine->nodes(), machine->topology->kind(),
                 machine->about);
  }
  if (json) fmt::print("{}\n", entries.dump(2));
  return {};
}

Status show(const Machine& machine, const MachineOptions& options, const std::string& more = {}) {
  if (options.save != "-") {
    if (options.json)
      fmt::print("{}\n", machine_json(machine).dump(2));
    else
      fmt::print("{}{}", machine_text(machine), more);
  }
  return options.save.empty() ? Status{} : save(machine, options.save);
}

Status show(const MachineOptions& options) {
  if (options.list) return list(options.json);
  if (!options.words.empty()) {
    Result<Machine> machine = find_machine(fmt::format("{}", fmt::join(options.words, " ")));
    return machine ? show(*machine, options, machine->banks.empty() ? "" : banks_here(*machine)) : machine.status();
  }
  Result<std::optional<ThisMachine>> here = look_at_this_machine(options.look);
  if (!here) return here.status();
  if (!*here) return {};
  for (const std::string& warning : (*here)->warnings) fmt::print(stderr, "{}\n", warning);
  return show((*here)->machine, options, hardware_text(**here));
}

constexpr const char* explanation =
    R"(Every number is shown with its unit and where it comes from: measured, system (the operating system says so),
configured (somebody wrote it), document (a publication, which is named) or assumed.

A short text is a topology and then what else is known, in any order:
  torus|mesh SHAPE, dragonfly GROUPSxROWSxCOLUMNSxNODES [global N], fattree ARITY, flat NODES, tree SWITCHES
  link BANDWIDTH, latency TIME, ranks N, gateway every N, gateway BANDWIDTH, bridges N, bridge BANDWIDTH [TIME],
  bank NAME [KIND] AMOUNTS [PERSISTENCY], storage KIND AMOUNTS, name NAME

Examples:
  weir machine
  weir machine --calibrate --storage /scratch
  mpirun -n 16 weir machine --calibrate --save mine.toml
  weir machine --list
  weir machine mira
  weir machine theta --json
  weir machine torus 4x4x4x4x2 link 2GBps latency 1us gateway every 128 bridges 2 bridge 2GBps ranks 16
  weir machine 'tree (4+4)+2 link 10GBps bank dram 64GB 80GBps 100ns' --save mine.toml
  weir machine mine.toml
  weir machine /etc/slurm/topology.conf

Without a name it is this machine: what hwloc, the file system and the scheduler tell, and what an earlier --calibrate
measured. Started by mpirun it is all nodes of the allocation.

Exit codes: 0 done, 1 a file cannot be read or written, 2 wrong use or a description that is refused.)";

}  // namespace

void add_machine(CLI::App& program) {
  static MachineOptions options;
  CLI::App* command =
      program.add_subcommand("machine", "a machine as Weir sees it: network, ways out, memory, storage");
  auto* words = command->add_option("machine", options.words,
                                    "a stored machine's name, a description file, a topology.conf of Slurm, or a "
                                    "short text; without it, this machine");
  words->type_name("NAME|FILE|TEXT");
  auto* save_to =
      command->add_option("--save", options.save, "write it as a description file, or - for the standard output alone");
  save_to->type_name("FILE");
  command->add_flag("--json", options.json, "as JSON, figures in bytes, seconds and bytes a second");
  auto* calibrate = command->add_flag("--calibrate", options.look.calibrate,
                                      "measure this machine, and keep the result for later runs");
  calibrate->excludes(words);
  command->add_option("--seconds", options.look.seconds, "that measuring may take")
      ->capture_default_str()
      ->needs(calibrate)
      ->check(CLI::Range(0.1, 3600.0));
  command->add_option("--storage", options.look.storage, "a directory of the file system that counts, for this machine")
      ->capture_default_str();
  command->add_flag("--list", options.list, "the stored machines")->excludes(words)->excludes(save_to);
  command->footer(explanation);
  command->callback([] {
    const Status status = show(options);
    if (status) return;
    fmt::print(stderr, "{}\n", status.message());
    set_exit_code(status.code() == Code::invalid ? 2 : 1);
  });
}

}  // namespace weir::tools

#include "box/box.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench_common.hpp"
#include "box/host.hpp"
#include "box/network.hpp"
#include "box_compare.hpp"
#include "commands.hpp"
#include "core/errors.hpp"
#include "core/units.hpp"
#include "launch.hpp"

namespace weir::tools {
namespace {

struct BoxOptions {
  box::Order order;
  std::string stripe = "256KiB";
  std::string name = "box";
  std::string host, other, change;
  std::string mpi = "openmpi";
  bool all = false, json = false;
};

void box_up(BoxOptions& options) {
  const auto stripe = parse_bytes(options.stripe);
  constexpr std::uint64_t least = 64 << 10, object = 4 << 20;
  if (!stripe || *stripe < least || object % *stripe != 0)
    throw Error{problem(Code::invalid, fmt::format("cannot stripe by '{}'", options.stripe),
                        "CephFS takes 64KiB, 128KiB, 256KiB and so on up to 4MiB")};
  options.order.stripe = *stripe;
  bench::catch_interrupts();
  const Progress line;
  const auto start = std::chrono::steady_clock::now();
  const box::State state = box::bring_up(options.order, [&](const std::string& what, double done) {
    if (bench::interrupted()) throw Error{problem(Code::io, "interrupted: the box is taken down again")};
    line.show(what, done);
  });
  line.clear();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{} is up: {} in {:.1f} s\n", options.order.name, state.cluster().machine().about, took.count());
  if (options.order.storage != "none") fmt::print("CephFS is at {}\n", state.file_system());
  if (options.order.weak) fmt::print("and with page caches at {}\n", state.weak_file_system());
  fmt::print("the machine is described in {}\n", state.description());
}

void box_down(const BoxOptions& options) {
  box::check_rights("take down a box");
  std::vector<std::string> names{options.name};
  if (options.all) names = box::State::names();
  for (const std::string& name : names) {
    box::take_down(box::State::find(name));
    fmt::print("{} is down\n", name);
  }
}

const char* host_condition(const box::State& state, const std::string& host) {
  return state.host(host).alive() ? "up" : "down";
}

nlohmann::ordered_json box_json(const box::State& state) {
  const box::Order& order = state.order();
  nlohmann::ordered_json json{{"name", order.name},
                              {"topology", order.topology},
                              {"rate", order.rate},
                              {"storage", order.storage},
                              {"complete", state.complete()},
                              {"description", state.description()},
                              {"file_system", order.storage == "none" ? "" : state.file_system()},
                              {"launcher", state.launcher("openmpi")}};
  const box::Cluster& cluster = state.cluster();
  for (std::size_t h = 0; h < cluster.hosts().size(); ++h)
    json["hosts"].push_back({{"name", cluster.hosts()[h].name},
                             {"address", cluster.address(static_cast<int>(h))},
                             {"up", state.host(cluster.hosts()[h].name).alive()}});
  for (const box::Wire& wire : cluster.wires())
    json["links"].push_back({cluster.hosts()[static_cast<std::size_t>(wire.a)].name,
                             cluster.hosts()[static_cast<std::size_t>(wire.b)].name});
  return json;
}

void print_box(const box::State& state) {
  const box::Order& order = state.order();
  const box::Cluster& cluster = state.cluster();
  fmt::print("{}: {}, {} links{}\n", order.name, order.topology, order.rate,
             state.complete() ? "" : ", left half made: take it down");
  for (const box::Host& host : cluster.hosts()) {
    std::vector<std::string> neighbours;
    for (const box::Wire& wire : cluster.wires()) {
      const auto& a = cluster.hosts()[static_cast<std::size_t>(wire.a)].name;
      const auto& b = cluster.hosts()[static_cast<std::size_t>(wire.b)].name;
      if (a == host.name) neighbours.push_back(b);
      if (b == host.name) neighbours.push_back(a);
    }
    fmt::print("  {:<4} {:<5}", host.name, host_condition(state, host.name));
    if (host.is_in_network())
      fmt::print(" {:<14} links to {}\n", cluster.address(cluster.find(host.name)), fmt::join(neighbours, ", "));
    else
      fmt::print(" {:<14} the front end, where jobs are launched\n",
                 cluster.management_address(cluster.find(host.name)));
  }
  if (order.storage != "none") fmt::print("  file system   {}\n", state.file_system());
  if (order.weak) fmt::print("  with caches   {}\n", state.weak_file_system());
  fmt::print("  description   {}\n  launchers     {}, {}\n", state.description(), state.launcher("openmpi"),
             state.launcher("mpich"));
}

void box_status(const BoxOptions& options) {
  auto json = nlohmann::ordered_json::array();
  for (const std::string& name : box::State::names()) {
    const box::State state = box::State::find(name);
    if (options.json)
      json.push_back(box_json(state));
    else
      print_box(state);
  }
  if (options.json) return fmt::print("{}\n", json.dump(2));
  if (box::State::names().empty()) fmt::print("no box is up\n");
}

void check_program(const std::vector<std::string>& words) {
  if (words.empty() || words.back() == "--")
    throw Error{problem(Code::invalid, "cannot run anything in the box: no program is given",
                        "for example: weir box exec c0 -- hostname, or weir box run -n 16 -- ./app")};
}

void box_exec(const BoxOptions& options, const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  const std::string host = words.empty() ? std::string{} : words.front();
  words.erase(words.begin(), words.begin() + std::min<std::ptrdiff_t>(1, std::ssize(words)));
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  check_program(words);
  box::check_rights("run anything in a box");
  const box::State state = box::State::find(options.name);
  (void)state.cluster().find(host);
  set_exit_code(box::run_on(state, host, words));
}

void box_run(const BoxOptions& options, const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  check_program(words);
  box::check_rights("run a job in a box");
  const box::State state = box::State::find(options.name);
  const auto launch = box::launch_command(state, options.mpi, words);
  box::become_front_end(state);
  box::become(launch);
}

void change_link(const BoxOptions& options) {
  box::check_rights("change a link");
  const box::State state = box::State::find(options.name);
  if (options.change == "up" || options.change == "down")
    return box::set_link(state, options.host, options.other, options.change == "up");
  const auto rate = box::parse_rate(options.change);
  if (!rate)
    throw Error{problem(Code::invalid, fmt::format("cannot set a link to '{}'", options.change),
                        "a link is set up or down, or to a rate such as 20mbit")};
  box::set_rate(state, options.host, options.other, *rate);
}

void change_host(const BoxOptions& options, const std::function<void(const box::State&)>& change) {
  box::check_rights("change a host");
  const box::State state = box::State::find(options.name);
  (void)state.cluster().find(options.host);
  change(state);
}

constexpr const char* box_explanation =
    R"(A box is a small cluster on one machine: hosts with networks, files, names and processes of their own, joined by links of
a given rate, and CephFS on its storage hosts. It needs root. docs/box.md tells what of it is real.

Examples:
  weir box up
  weir box up second --topology star:4:1 --rate 100mbit --storage none
  weir box status
  weir box exec c3 -- ls /run/weir-box/box/fs
  weir box run -n 16 -- ./app /run/weir-box/box/fs/file
  weir box run -n 2 --mpi mpich -- ./app
  weir run --launcher /run/weir-box/box/mpirun.openmpi -n 16 ./app /run/weir-box/box/fs/file
  weir box link c0 c1 20mbit
  weir box down
  weir bench hacc --box torus --json hacc.json
  weir box compare hacc.json

Exit codes: 0 done, 1 it failed, 2 wrong use; of exec and run that of the command.)";

CLI::App* add_box_command(CLI::App& group, const char* name, const char* meaning,
                          const std::function<void(CLI::App&)>& work) {
  CLI::App* command = group.add_subcommand(name, meaning);
  command->callback([command, work] { telling_errors([&] { work(*command); }); });
  return command;
}

}  // namespace

void add_box(CLI::App& program) {
  CLI::App* group =
      program.add_subcommand("box", "a cluster in a box: hosts, links and CephFS on this machine, for tests");
  group->require_subcommand(1);
  group->footer(box_explanation);
  const auto options = std::make_shared<BoxOptions>();
  const auto named = [&](CLI::App* command) {
    command->add_option("--box", options->name, "which one")->type_name("NAME")->capture_default_str();
    return command;
  };

  box::Order& order = options->order;
  CLI::App* command = add_box_command(*group, "up", "makes a box", [options](CLI::App&) { box_up(*options); });
  command->add_option("name", order.name, "its name")->capture_default_str();
  command
      ->add_option("--topology", order.topology,
                   "torus[:STORAGE], dragonfly[:STORAGE] with 8 compute hosts, or star:COMPUTE:STORAGE")
      ->capture_default_str();
  command->add_option("--rate", order.rate, "of every link, each way; 50mbit:200mbit gives those of storage hosts another one")->capture_default_str();
  command->add_option("--storage", order.storage, "cephfs, or none")
      ->check(CLI::IsMember({"cephfs", "none"}))
      ->capture_default_str();
  command->add_option("--stripe", options->stripe, "bytes of a file on one storage host before the next")
      ->capture_default_str();
  command->add_flag("--weak", order.weak, "mounts CephFS a second time, with page caches that are not coherent");

  command = add_box_command(*group, "down", "ends all of a box", [options](CLI::App&) { box_down(*options); });
  command->add_option("name", options->name, "its name")->capture_default_str();
  command->add_flag("--all", options->all, "all boxes of this machine");

  command = add_box_command(*group, "status", "boxes, hosts and links", [options](CLI::App&) { box_status(*options); });
  command->add_flag("--json", options->json, "as JSON");

  command = named(add_box_command(*group, "exec", "runs a command on a host: HOST -- COMMAND ...",
                                  [options](CLI::App& self) { box_exec(*options, self); }));
  command->prefix_command();

  command = named(add_box_command(*group, "run",
                                  "starts an MPI job on the compute hosts; all that follows goes to the launcher",
                                  [options](CLI::App& self) { box_run(*options, self); }));
  command->add_option("--mpi", options->mpi, "whose launcher: openmpi or mpich")
      ->check(CLI::IsMember({"openmpi", "mpich"}))
      ->capture_default_str();
  command->prefix_command();

  command = named(add_box_command(*group, "link", "changes a link", [options](CLI::App&) { change_link(*options); }));
  command->add_option("host", options->host, "one end")->required();
  command->add_option("other", options->other, "the other end")->required();
  command->add_option("change", options->change, "up, down or a rate")->required();

  add_box_compare(*group);

  const auto host_command = [&](const char* name, const char* meaning,
                                const std::function<void(const box::State&)>& change) {
    named(add_box_command(*group, name, meaning, [options, change](CLI::App&) { change_host(*options, change); }))
        ->add_option("host", options->host, "which one")
        ->required();
  };
  host_command("cut", "takes all links of a host down",
               [options](const box::State& state) { set_links(state, options->host, false); });
  host_command("mend", "brings them back",
               [options](const box::State& state) { set_links(state, options->host, true); });
  host_command("kill", "ends a host, as if its power were cut",
               [options](const box::State& state) { kill_host(state, options->host); });
}

}  // namespace weir::tools

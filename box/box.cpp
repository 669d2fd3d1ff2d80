#include "box/box.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <thread>

#include "box/host.hpp"
#include "box/network.hpp"
#include "core/errors.hpp"
#include "machine/description.hpp"

namespace weir::box {
namespace {

void check_programs(const Order& order) {
  std::vector<std::string> missing;
  for (const char* program : {"ip", "tc"})
    if (find_program(program).empty()) missing.push_back(fmt::format("{} (package iproute2)", program));
  if (order.storage == "cephfs")
    for (std::string& program : missing_for_cephfs()) missing.push_back(std::move(program));
  if (!missing.empty())
    throw Error{problem(Code::unsupported, fmt::format("cannot bring up a box without {}", fmt::join(missing, ", ")),
                        "install the packages, which packaging/setup.sh does, or choose --storage none")};
}

/// Rates are as they were set; what a call or a message takes besides is of the right size on a machine with few cores.
Machine machine_of(const State& state) {
  Machine machine = state.cluster().machine();
  const auto storage = static_cast<double>(state.cluster().names(Role::storage).size());
  if (state.order().storage == "cephfs") {
    FileSystem& ceph = machine.storage;
    ceph.kind = "cephfs";
    ceph.path = state.file_system();
    ceph.read = ceph.write = {storage * state.cluster().storage_rate().bytes_per_s, Origin::configured,
                              "box: the links of all storage hosts"};
    ceph.latency = {2e-3, Origin::assumed, "a call of CephFS in a box"};
    ceph.call = {1e-3, Origin::assumed, "clients and servers of a box share two cores"};
    ceph.stripe = {static_cast<double>(state.order().stripe), Origin::configured, "box"};
  }
  Bank memory;
  memory.name = memory.kind = "dram";
  const double bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  memory.capacity = {std::floor(bytes / machine.nodes()), Origin::system, "one of the hosts that share it"};
  memory.latency = {100e-9, Origin::assumed, "usual for dram"};
  memory.read = memory.write = {5e9, Origin::assumed, "usual for a core"};
  machine.banks.push_back(memory);
  return machine;
}

void write_scripts(const State& state) {
  const std::string weir = std::filesystem::read_symlink("/proc/self/exe").string(), name = state.order().name;
  // As a remote shell is called: options, a host, the words of a command line.
  state.write("agent",
              fmt::format("#!/bin/sh\nwhile :; do case $1 in -*) shift ;; *) break ;; esac; done\nhost=$1\nshift\n"
                          "exec '{}' box exec --box {} \"$host\" -- sh -c \"$*\"\n",
                          weir, name),
              true);
  for (const char* mpi : {"openmpi", "mpich"})
    state.write(std::filesystem::path{state.launcher(mpi)}.filename(),
                fmt::format("#!/bin/sh\nexec '{}' box run --box {} --mpi {} \"$@\"\n", weir, name, mpi), true);
}

void make(const State& state, const Progress& progress) {
  const auto& hosts = state.cluster().hosts();
  state.write("hosts.table", state.cluster().host_table());
  state.write("machine.toml", write_machine(machine_of(state)));
  write_scripts(state);
  progress("starting hosts", 0);
  for (const Host& host : hosts) start_host(state, host.name);
  progress("joining them", 0.1);
  make_network(state);
  if (state.order().storage == "cephfs") start_cephfs(state, progress);
  state.set_complete();
}

bool wait_until_gone(const ProcessId& process) {
  for (int tries = 0; tries < 1000; ++tries) {
    ::waitpid(process.pid, nullptr, WNOHANG);  // ours, when it was made by this process
    if (!process.alive()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return false;
}

}  // namespace

void check_rights(const std::string& action) {
  if (::geteuid() == 0) return;
  throw Error{problem(Code::access,
                      fmt::format("cannot {}: a box is made of namespaces, links and mounts, which takes root", action),
                      "run it as root")};
}

State bring_up(const Order& order, const Progress& progress) {
  check_rights("bring up a box");
  check_programs(order);
  State state = State::make(order);
  try {
    make(state, progress);
  } catch (...) {
    take_down(state);
    throw;
  }
  return state;
}

void take_down(const State& state) {
  check_rights("take down a box");
  std::vector<ProcessId> processes = state.launches();
  for (const ProcessId& launch : processes)
    if (launch.pid > 1 && launch.pid != ::getpid() && launch.alive()) ::kill(launch.pid, SIGTERM);
  std::erase_if(processes, [](const ProcessId& process) { return process.pid == ::getpid(); });
  for (const Host& host : state.cluster().hosts()) {
    processes.push_back(state.host(host.name));
    kill_host(state, host.name);
  }
  for (const ProcessId& process : processes)
    if (process.pid > 1 && !wait_until_gone(process))
      throw Error{problem(
          Code::io,
          fmt::format("cannot take down the box '{}': process {} does not end", state.order().name, process.pid),
          "end it, and take the box down again")};
  state.remove();
}

}  // namespace weir::box

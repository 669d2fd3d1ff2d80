#pragma once

#include <string>
#include <vector>

#include "box/state.hpp"

namespace weir::box {

/// Starts a host: a process with network, mount, UTS, IPC and PID namespaces of its own, which is the first in the
/// last. It outlives its caller once it is noted in the state, and ends with it before. Throws `Error`.
void start_host(const State& state, const std::string& name);

/// Ends a host with everything that runs on it, at once, as if its power were cut. Nothing when it is down already.
void kill_host(const State& state, const std::string& name);

/// This process gets a network that has only the loopback device, with Linux's own congestion control, and so do those it
/// starts. False when it may not; all stays as it was.
bool enter_own_network();

/// All namespaces of a host.
Inside inside(const State& state, const std::string& name);
/// Only its network, with the caller's process numbers and files.
Inside network_of(const State& state, const std::string& name);

/// Runs a command on a host, in the caller's working directory where the host has it; returns its exit code.
int run_on(const State& state, const std::string& host, const std::vector<std::string>& command);

/// This process becomes one of the front end: its network and name, and the files that the first compute host sees. Its
/// process numbers stay, so that it can enter hosts.
void become_front_end(const State& state);

}  // namespace weir::box

#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/node_facts.hpp"

namespace weir {

struct DetectOptions {
  /// Instead of this machine's hardware: an hwloc XML file, or a synthetic description such as "pack:2 core:4 pu:1".
  /// Empty: this machine, unless HWLOC_XMLFILE or HWLOC_SYNTHETIC name another one.
  std::string hardware = {};
  std::string storage_path = ".";
  std::vector<std::string> node_directories = {};
  /// The node's number in the job, which stands for {node} in directories.
  int node = 0;
  std::function<const char*(const char* variable)> environment = [](const char* v) -> const char* {
    return std::getenv(v);
  };
  /// What this machine is called; empty: asked from the system.
  std::string host = {};
  /// Where a Cray says what it calls this node.
  std::vector<std::string> cray_names = {"/proc/cray_xt/cname", "/etc/cray/xname"};
};

/// What this node has: every figure comes from the system, or is unknown. An error only when there is no hardware to
/// look at; a node-local directory that cannot be used is left out, with a warning in the facts. Local, takes
/// milliseconds.
Result<NodeFacts> detect_node(const DetectOptions& options);

/// This machine's name; empty when it has none.
std::string host_name();

/// "/a:/b" as two directories; empty parts are left out.
std::vector<std::string> split_directories(std::string_view list);

}  // namespace weir

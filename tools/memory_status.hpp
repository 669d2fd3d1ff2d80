#pragma once

#include <string>
#include <weir/status.hpp>

namespace weir::tools {

struct StatusOptions {
  std::string contact = "weir-memory.contact";
  std::string secret;
  std::string json;  ///< file, or "-"; "": a table
  double timeout_s = 10;
};

/// Asks a memory server how it is, and prints it.
Status show_memory_status(const StatusOptions& options);

}  // namespace weir::tools

#pragma once

#include <string>
#include <vector>

namespace weir::tools {

struct PeerOptions {
  std::vector<std::string> sizes{"4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB"};  ///< of one message
  int pairs = 5;
  std::string directory, json;
};

/// Puts and gets through a memory server beside UCX's own benchmark, in turn, on the same transport. Throws `Error`.
void run_bench_peer(const PeerOptions& options);

}  // namespace weir::tools

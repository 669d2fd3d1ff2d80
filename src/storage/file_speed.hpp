#pragma once

#include <string>
#include <vector>
#include <weir/status.hpp>

namespace weir {

/// Repeated measurements of files in a directory: seconds of reading a block, bytes a second of reading, of writing
/// until the system has accepted the data, and until they are durable.
struct FileSpeed {
  std::vector<double> latency, read, accepted, durable;
  bool past_cache = true;  ///< reading went to the device; else the system's cache may have answered
};

/// In one file without a name, of at most 64 MiB, reserved before it is written: a full disk is an error. A quarter of
/// the time for each kind, and each at least once. Local.
Result<FileSpeed> measure_files(const std::string& directory, double seconds);

}  // namespace weir

#pragma once

#include <string>
#include <vector>
#include <weir/settings.hpp>

#include "bench_common.hpp"
#include "results.hpp"

/// Jobs of `weir-bench-worker`.
namespace weir::tools {

/// A new directory for the files, removed in the end; in TMPDIR, else the working directory, when none is given.
class Scratch {
 public:
  Scratch(const std::string& given, const char* option);
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// What `--set` and `--nodes` say, checked.
Settings bench_settings(const std::vector<std::string>& given, int ranks, int nodes);

std::string worker_path();

/// Runs `results.request` and adds what it tells, `expected` measurements.
void run_worker(const std::string& baseline, const std::vector<std::string>& command, std::size_t expected,
                const Progress& progress, bench::Results& results);

}  // namespace weir::tools

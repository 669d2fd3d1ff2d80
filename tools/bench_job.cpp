#include "bench_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/errors.hpp"
#include "core/settings.hpp"
#include "launch.hpp"

namespace weir::tools {

namespace fs = std::filesystem;

Scratch::Scratch(const std::string& given, const char* option) {
  const char* temporary = std::getenv("TMPDIR");
  const fs::path parent = !given.empty() ? fs::path{given} : fs::path{temporary != nullptr ? temporary : "."};
  std::string name = (fs::absolute(parent) / "weir-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error{system_problem(errno, fmt::format("make a directory in '{}'", fs::absolute(parent).string()),
                               fmt::format("name another place with {}", option))};
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Settings bench_settings(const std::vector<std::string>& given, int ranks, int nodes) {
  Settings settings = pairs_of(given, "--set");
  if (nodes > 0) settings["machine.ranks_per_node"] = std::to_string((ranks + nodes - 1) / nodes);
  const auto resolved = ResolvedSettings::resolve(settings);
  if (!resolved) throw Error{resolved.status()};
  return settings;
}

std::string worker_path() {
  const fs::path path = fs::read_symlink("/proc/self/exe").replace_filename("weir-bench-worker");
  if (!fs::exists(path))
    throw Error{problem(Code::not_found, fmt::format("cannot find '{}'", path.string()),
                        "it is built together with weir and belongs beside it")};
  return path.string();
}

void run_worker(const std::string& baseline, const std::vector<std::string>& command, std::size_t expected,
                const Progress& progress, bench::Results& results) {
  const bench::HostState start = bench::host_state();
  bench::HostState before = start;
  const auto each = [&](const bench::Answer& answer) {
    results.mpi = answer.mpi;
    progress.show(fmt::format("{}: {}", baseline, answer.phase), answer.done);
    for (const bench::Measurement& measurement : answer.measurements) {
      const bench::HostState after = bench::host_state();
      results.add(baseline, measurement, before, after);
      before = after;
      --expected;
    }
  };
  const double silence_s = std::max(600.0, 2 * results.request.budget_s);
  std::string problem = bench::run_job(command, results.request, silence_s, each);
  results.end_job(baseline, bench::others_percent(start, bench::host_state()));
  if (problem.empty() && expected > 0) problem = fmt::format("{} of its measurements are missing", expected);
  if (!problem.empty()) results.failures.push_back({baseline, problem});
}

}  // namespace weir::tools

#pragma once

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// What the subcommands of `weir bench` share.
namespace weir::tools {

/// The cost of planning, which needs no job.
void add_bench_plan(CLI::App& bench);
/// The cost of electing aggregators, which needs none either.
void add_bench_placement(CLI::App& bench);
/// Storage of the nodes side by side with the file system.
void add_bench_workflow(CLI::App& bench);

/// Remote memory in three phases side by side with two phases.
void add_bench_ran(CLI::App& bench);

/// A line on the terminal that says how far the work is.
class Progress {
 public:
  void show(const std::string& what, double done) const;
  void clear() const;

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
};

/// Words of the form key=value; `option` is where they come from.
std::map<std::string, std::string> pairs_of(const std::vector<std::string>& words, const std::string& option);

inline constexpr const char* json_meaning =
    "results for programs, into a file, or - for the standard output instead of the table";
/// The table on the standard output and the JSON in the file that `--json` named, or only the JSON for `-`.
void print_results(const std::string& json_option, const std::string& table, const nlohmann::ordered_json& json);

/// Does the work; an error is told on the standard error and in the exit code.
void telling_errors(const std::function<void()>& work);

}  // namespace weir::tools

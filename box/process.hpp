#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::box {

/// A process that is told apart from a later one with the same number by when it started.
struct ProcessId {
  pid_t pid = -1;
  std::uint64_t started = 0;  ///< clock ticks after the system

  static ProcessId of(pid_t pid);
  /// It runs: what has ended and was not waited for does not.
  [[nodiscard]] bool alive() const;
};

/// Namespaces of a process to do something in, as flags of clone(2).
struct Inside {
  ProcessId process;
  int namespaces = 0;
};

/// Enters them; the process number space only counts for children. Throws `Error`.
void enter(const Inside& inside);

/// A command under way.
class Job {
 public:
  /// Its output goes to `log`, its input comes from the file `input`, or from nowhere.
  Job(const Inside& inside, const std::vector<std::string>& command, std::string log, const std::string& input = {});
  Job(Job&& other) noexcept : pid_{other.pid_}, name_{std::move(other.name_)}, log_{std::move(other.log_)} {
    other.pid_ = -1;
  }
  Job& operator=(Job&&) = delete;
  ~Job();
  /// Waits; throws `Error` with the end of its output when it failed.
  void finish();

 private:
  pid_t pid_ = -1;
  std::string name_, log_;
};

/// Starts it and waits.
void run(const Inside& inside, const std::vector<std::string>& command, const std::string& log,
         const std::string& input = {});

/// Becomes a program; on failure says so and exits with 127.
[[noreturn]] void become(std::vector<std::string> command);

/// Where a program is, by PATH and the directories of administrators; empty when it is not there.
std::string find_program(const std::string& name);

}  // namespace weir::box

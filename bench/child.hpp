#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace weir::bench {

/// A child process with pipes to its standard input and from its standard output.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// All of its input. Whoever gives much ignores SIGPIPE.
  void give(const std::string& text);

  enum class Got { text, end, nothing };
  /// More of the child's output, waiting at most so long.
  Got read(std::string& text, double seconds);

  void end() const;
  /// Its status, as waitpid tells it.
  [[nodiscard]] int wait() const;

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

}  // namespace weir::bench

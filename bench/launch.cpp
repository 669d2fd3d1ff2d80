#include "launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/errors.hpp"

namespace weir::bench {
namespace {

volatile std::sig_atomic_t interrupt = 0;

/// A child process with pipes to its standard input and from its standard output.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0)
      throw Error{system_problem(errno, "make a pipe")};
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int error = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    output_ = out[0];
    if (error != 0) throw Error{system_problem(error, fmt::format("start '{}'", command.front()))};
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (input_ >= 0) ::close(input_);
    if (output_ >= 0) ::close(output_);
  }

  void give(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t wrote = ::write(input_, text.data() + done, text.size() - done);
      if (wrote < 0 && errno != EINTR) break;  // its exit status tells why
      if (wrote > 0) done += static_cast<std::size_t>(wrote);
    }
    ::close(std::exchange(input_, -1));
  }

  enum class Got { text, end, nothing };
  /// More of the child's output, waiting at most so long.
  Got read(std::string& text, double seconds) {
    pollfd waiting{output_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(seconds * 1000));
    if (ready <= 0) return Got::nothing;
    std::array<char, 4096> part{};
    const ssize_t got = ::read(output_, part.data(), part.size());
    if (got <= 0) return Got::end;
    text.append(part.data(), static_cast<std::size_t>(got));
    return Got::text;
  }

  void end() const { ::kill(pid_, SIGTERM); }

  int wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

void pass_on(const std::string& line, const std::function<void(const Answer&)>& each) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_object()) {
    each(json.get<Answer>());
  } else {
    fmt::print(stderr, "{}\n", line);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int number) { interrupt = number; };
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

bool interrupted() { return interrupt != 0; }

std::string run_job(const std::vector<std::string>& command, const Request& request, double silence_s,
                    const std::function<void(const Answer&)>& each) {
  Child child{command};
  child.give(nlohmann::json(request).dump());
  std::string text, problem;
  for (;;) {
    const Child::Got got = interrupted() ? Child::Got::nothing : child.read(text, silence_s);
    if (got == Child::Got::end) break;
    if (got == Child::Got::nothing) {
      problem = interrupted() ? "interrupted" : fmt::format("it was silent for {:.0f} s and was ended", silence_s);
      child.end();
      break;
    }
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      pass_on(text.substr(0, end), each);
  }
  const int status = child.wait();
  if (problem.empty() && WIFSIGNALED(status))
    problem = fmt::format("the launcher was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  if (problem.empty() && WEXITSTATUS(status) != 0)
    problem = fmt::format("the launcher ended with exit code {}", WEXITSTATUS(status));
  return problem;
}

}  // namespace weir::bench

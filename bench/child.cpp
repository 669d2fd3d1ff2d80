#include "child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "core/errors.hpp"

namespace weir::bench {

Child::Child(const std::vector<std::string>& command) {
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

Child::~Child() {
  if (input_ >= 0) ::close(input_);
  if (output_ >= 0) ::close(output_);
}

void Child::give(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(input_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) break;  // its exit status tells why
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  ::close(std::exchange(input_, -1));
}

Child::Got Child::read(std::string& text, double seconds) {
  pollfd waiting{output_, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(seconds * 1000));
  if (ready <= 0) return Got::nothing;
  std::array<char, 4096> part{};
  const ssize_t got = ::read(output_, part.data(), part.size());
  if (got <= 0) return Got::end;
  text.append(part.data(), static_cast<std::size_t>(got));
  return Got::text;
}

void Child::end() const { ::kill(pid_, SIGTERM); }

int Child::wait() const {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace weir::bench

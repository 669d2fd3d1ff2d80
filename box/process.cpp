#include "box/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "core/descriptor.hpp"
#include "core/errors.hpp"

namespace weir::box {
namespace {

/// What /proc says behind the name of a process: its state first, its start as the twentieth word.
std::vector<std::string> status_words(pid_t pid) {
  std::ifstream file{fmt::format("/proc/{}/stat", pid)};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words{text.substr(name_end + 1)};
  return {std::istream_iterator<std::string>{words}, {}};
}

std::string end_of(const std::string& path) {
  constexpr std::size_t most = 800;
  std::ifstream file{path};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > most) text = "..." + text.substr(text.size() - most);
  return text;
}

void redirect(int descriptor, const char* path, int flags) {
  const int file = ::open(path, flags, 0600);
  if (file >= 0) ::dup2(file, descriptor);
  if (file > STDERR_FILENO) ::close(file);
}

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

ProcessId ProcessId::of(pid_t pid) {
  const auto words = status_words(pid);
  return {pid, words.size() > 19 ? std::strtoull(words[19].c_str(), nullptr, 10) : 0};
}

bool ProcessId::alive() const {
  const auto words = status_words(pid);
  return words.size() > 19 && words[0] != "Z" && words[0] != "X" &&
         std::strtoull(words[19].c_str(), nullptr, 10) == started;
}

void enter(const Inside& inside) {
  const Descriptor process{static_cast<int>(::syscall(SYS_pidfd_open, inside.process.pid, 0))};
  if (!process || !inside.process.alive())
    throw Error{problem(Code::not_found, "cannot enter a host of the box: it is down", "see `weir box status`")};
  if (::setns(process.get(), inside.namespaces) != 0)
    throw Error{system_problem(errno, "enter a host of the box", "it takes root, and a kernel with namespaces")};
}

Job::Job(const Inside& inside, const std::vector<std::string>& command, std::string log, const std::string& input)
    : name_{command.front()}, log_{std::move(log)} {
  pid_ = ::fork();
  if (pid_ < 0) throw Error{system_problem(errno, fmt::format("start '{}'", name_))};
  if (pid_ > 0) return;
  ::setsid();
  redirect(STDIN_FILENO, input.empty() ? "/dev/null" : input.c_str(), O_RDONLY);
  redirect(STDOUT_FILENO, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  ::dup2(STDOUT_FILENO, STDERR_FILENO);
  try {
    if (inside.namespaces != 0) enter(inside);
    if ((inside.namespaces & CLONE_NEWPID) != 0) {
      const pid_t child = ::fork();
      if (child == 0) become(command);
      int status = 0;
      ::waitpid(child, &status, 0);
      ::_exit(child < 0 ? 127 : exit_code_of(status));
    }
    become(command);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    std::fflush(stderr);
    ::_exit(127);
  }
}

Job::~Job() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Job::finish() {
  constexpr int most_s = 120;
  const Descriptor process{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  pollfd ended{process.get(), POLLIN, 0};
  int ready = 1;
  while (process && (ready = ::poll(&ended, 1, most_s * 1000)) < 0 && errno == EINTR) {
  }
  if (ready == 0) {
    ::kill(-std::exchange(pid_, -1), SIGKILL);  // not waited for: it may wait for a file system itself
    throw Error{problem(Code::io, fmt::format("'{}' has not ended within {} s: {}", name_, most_s, end_of(log_)))};
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw Error{problem(Code::io, fmt::format("'{}' failed with {}: {}", name_, exit_code_of(status), end_of(log_)))};
}

void run(const Inside& inside, const std::vector<std::string>& command, const std::string& log,
         const std::string& input) {
  Job{inside, command, log, input}.finish();
}

void become(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fmt::print(stderr, "weir: cannot start '{}': {}\n", command.front(), std::strerror(errno));
  std::fflush(stderr);
  ::_exit(127);
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : std::string{};
  const char* path = std::getenv("PATH");
  std::istringstream folders{std::string{path != nullptr ? path : ""} + ":/usr/sbin:/sbin:/usr/bin:/bin"};
  for (std::string folder; std::getline(folders, folder, ':');)
    if (!folder.empty() && ::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return {};
}

}  // namespace weir::box

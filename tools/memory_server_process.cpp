#include "memory_server_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "core/errors.hpp"

extern char** environ;

namespace weir::tools {

ServerProcess::ServerProcess(const std::string& directory, std::uint64_t bytes, Listens listens)
    : contact_{directory + "/memory.contact"}, secret_{listens == Listens::tcp ? directory + "/memory.secret" : ""} {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(),
                                 "memory",
                                 "serve",
                                 "--size",
                                 std::to_string(bytes),
                                 "--listen",
                                 listens == Listens::tcp ? "tcp:127.0.0.1:0" : "unix:" + directory + "/memory.socket",
                                 "--contact",
                                 contact_};
  if (!secret_.empty()) words.insert(words.end(), {"--secret", secret_});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = posix_spawn(&process_, arguments[0], &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (error != 0) throw Error{system_problem(error, "start a memory server")};
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!std::filesystem::exists(contact_)) {
    if (std::chrono::steady_clock::now() > give_up || ::waitpid(process_, nullptr, WNOHANG) == process_)
      throw Error{problem(Code::io, "cannot start a memory server: it did not come up", "see what it said above")};
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

ServerProcess::~ServerProcess() {
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace weir::tools

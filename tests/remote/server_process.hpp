#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "net/connection.hpp"
#include "remote/memory_server.hpp"
#include "remote/protocol.hpp"
#include "remote/remote_memory.hpp"

namespace weir::testing {

/// A directory that is gone at the end.
class ScratchDirectory {
 public:
  ScratchDirectory() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  ~ScratchDirectory() {
    if (DIR* directory = ::opendir(path_.c_str())) {
      while (const dirent* entry = ::readdir(directory)) ::unlink((*this / entry->d_name).c_str());
      ::closedir(directory);
    }
    ::rmdir(path_.c_str());
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/weir-test-XXXXXX";
};

/// A child process that runs `work` and nothing else; it is killed and waited for at the end.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : pid_{::fork()} {
    if (pid_ == 0) ::_exit(work());
  }
  Child(const Child&) = delete;
  ~Child() { end(SIGKILL); }

  void signal(int number) const { ::kill(pid_, number); }
  /// The exit code; 128 and the signal where one ended it.
  int end(int number) {
    if (pid_ > 0 && number != 0) ::kill(pid_, number);
    return wait();
  }
  int wait() {
    if (pid_ <= 0) return code_;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  int code_ = -1;
};

/// Whether it comes true in time.
inline bool soon(const std::function<bool()>& condition, double seconds = 10) {
  const Deadline deadline = Deadline::in(seconds);
  while (!condition()) {
    if (deadline.is_over()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

inline double processor_seconds(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string word;
  for (int i = 1; i <= 13; ++i) file >> word;
  double user = 0, system = 0;
  file >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

inline std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream list{"/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"};
  return {std::istream_iterator<pid_t>{list}, {}};
}

inline RegionName named(std::uint64_t serial, std::uint64_t rank = 0) { return {{0x1234, 0x5678}, serial, rank}; }
inline constexpr std::uint64_t mib = 1U << 20;

inline MemoryServer* serving = nullptr;

/// A memory server in a process of its own, listening when the constructor is over.
class ServerProcess {
 public:
  explicit ServerProcess(
      MemoryServerOptions options, const std::function<void()>& prepare = [] {})
      : contact_{options.contact.empty() ? directory_ / "contact" : options.contact}, child_{[&] {
          prepare();
          ::close(ready_[0]);
          options.contact = contact_;
          if (options.listen.empty()) options.listen = "unix:" + directory_ / "socket";
          auto server = MemoryServer::make(options);
          if (!server) std::fprintf(stderr, "%s\n", server.status().message().c_str());
          if (!server) return 1;
          serving = server->get();
          ::signal(SIGTERM, [](int) { serving->stop(); });
          ::close(ready_[1]);
          const bool good = (*server)->run().ok();
          server->reset();
          return good ? 0 : 1;
        }} {
    ::close(ready_[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready_[0], &byte, 1), 0);  // closed by the server, or by its end
    ::close(ready_[0]);
  }

  [[nodiscard]] const std::string& contact() const { return contact_; }
  [[nodiscard]] const ScratchDirectory& directory() const { return directory_; }
  Child& process() { return child_; }
  [[nodiscard]] Contact contact_value() const { return read_contact(contact_).value(); }
  [[nodiscard]] std::unique_ptr<RemoteMemory> connect(double timeout_s = 5,
                                                      const std::string& transport = "auto") const {
    RemoteOptions options;
    options.contact = contact_;
    options.timeout_s = timeout_s;
    options.transport = transport;
    auto memory = connect_remote_memory(options);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    return memory ? *std::move(memory) : nullptr;
  }
  [[nodiscard]] MemoryReport report() const {
    auto connection = Connection::open(contact_value(), {0, "admin", "", 5}).value();
    return MemoryReport::decode(connection->ask(MemoryMessage::status, {}).value().payload).value();
  }
  /// When nobody has come or gone for a while.
  [[nodiscard]] std::size_t quiet_descriptors() const {
    std::size_t before = 0, now = descriptors();
    while (before != now) {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      before = std::exchange(now, descriptors());
    }
    return now;
  }
  [[nodiscard]] std::size_t descriptors() const {
    std::size_t count = 0;
    DIR* directory = ::opendir(("/proc/" + std::to_string(child_.pid()) + "/fd").c_str());
    if (!directory) return 0;
    while (::readdir(directory)) ++count;
    ::closedir(directory);
    return count;
  }

 private:
  struct Pipe {
    Pipe() { EXPECT_EQ(::pipe(ends), 0); }
    int operator[](int i) const { return ends[i]; }
    int ends[2];
  };
  ScratchDirectory directory_;
  std::string contact_;
  Pipe ready_;
  Child child_;
};

}  // namespace weir::testing

#include "box/host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/descriptor.hpp"
#include "core/errors.hpp"

namespace weir::box {
namespace {

constexpr int all_namespaces = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;

[[noreturn]] void fail(const char* action) { throw Error{system_problem(errno, action)}; }

void mount_over(const char* kind, const std::string& place, const char* options = nullptr) {
  if (::mount(kind, place.c_str(), kind, MS_NOSUID | MS_NODEV, options) != 0)
    fail(fmt::format("mount {} on '{}'", kind, place).c_str());
}

void set_up_loopback() {
  const Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (!socket || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) fail("set up the loopback device");
}

void set_option(const char* name, const char* value) {
  std::ofstream file{fmt::format("/proc/sys/net/ipv4/{}", name)};
  file << value;
  file.close();
  if (!file) fail(fmt::format("set net.ipv4.{}", name).c_str());
}

/// Linux's own, whatever the machine around uses: with another a box would be another network on another machine. A machine
/// may keep it to itself; the oldest is always allowed.
void choose_congestion_control() {
  std::ifstream file{"/proc/sys/net/ipv4/tcp_allowed_congestion_control"};
  const std::set<std::string> allowed{std::istream_iterator<std::string>{file}, {}};
  set_option("tcp_congestion_control", allowed.contains("cubic") ? "cubic" : "reno");
}

/// Hosts pass on what is for others, by ways that need not be the ways back. A peer that does not answer is given up
/// after about 13 s instead of 15 minutes.
void set_network_options() {
  constexpr std::pair<const char*, const char*> options[] = {{"ip_forward", "1"},
                                                             {"conf/all/rp_filter", "0"},
                                                             {"conf/default/rp_filter", "0"},
                                                             {"conf/all/send_redirects", "0"},
                                                             {"conf/default/send_redirects", "0"},
                                                             {"tcp_retries2", "5"},
                                                             {"tcp_syn_retries", "3"}};
  for (const auto& [name, value] : options) set_option(name, value);
  choose_congestion_control();
}

void furnish(const State& state, const std::string& name) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail("make mounts private");
  mount_over("proc", "/proc");
  mount_over("sysfs", "/sys");
  mount_over("tmpfs", "/dev/shm", "mode=1777");
  mount_over("tmpfs", state.path("tmp"), "mode=1777");
  if (::mount(state.path("hosts.table").c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
    fail("mount /etc/hosts");
  if (::sethostname(name.data(), name.size()) != 0) fail("set the host's name");
  set_up_loopback();
  set_network_options();
}

/// The life of a host's first process: it lasts, and waits for whom nobody else does.
[[noreturn]] void be_host(const State& state, const std::string& name, int go, int ready) {
  ::setsid();
  ::prctl(PR_SET_NAME, ("weir-box " + name).c_str());
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(1);  // the caller has ended without noting this process
  std::string problem;
  try {
    furnish(state, name);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, descriptor);
    if (null > STDERR_FILENO) ::close(null);
  }
  if (::chdir("/") != 0 || ::write(ready, problem.data(), problem.size()) < 0) ::_exit(1);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  if (!problem.empty()) ::_exit(1);
  std::signal(SIGCHLD, SIG_IGN);
  for (;;) ::pause();
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("make a pipe");
    out = Descriptor{ends[0]};
    in = Descriptor{ends[1]};
  }
  Descriptor out, in;
};

/// Passes signals that would end this process on to the child that it waits for.
pid_t waited_for = 0;
extern "C" void pass_on(int signal) { ::kill(waited_for, signal); }

}  // namespace

bool enter_own_network() {
  constexpr const char* needed = "/proc/sys/net/ipv4/tcp_congestion_control";
  if (::access(needed, W_OK) != 0 || ::unshare(CLONE_NEWNET) != 0) return false;
  set_up_loopback();
  choose_congestion_control();
  return true;
}

void start_host(const State& state, const std::string& name) {
  Pipe go, ready;
  std::fflush(nullptr);
  const auto pid =
      static_cast<pid_t>(::syscall(SYS_clone, all_namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (pid < 0)
    throw Error{
        system_problem(errno, fmt::format("start the host '{}'", name), "it takes root, and a kernel with namespaces")};
  if (pid == 0) {
    go.in.reset();
    ready.out.reset();
    be_host(state, name, go.out.get(), ready.in.get());
  }
  go.out.reset();
  ready.in.reset();
  state.add_host(name, ProcessId::of(pid));
  if (::write(go.in.get(), "g", 1) != 1) fail("start a host");
  std::string problem;
  std::array<char, 512> part{};
  for (ssize_t got = 0; (got = ::read(ready.out.get(), part.data(), part.size())) > 0;)
    problem.append(part.data(), static_cast<std::size_t>(got));
  if (!problem.empty() || !ProcessId::of(pid).alive())
    throw Error{
        Status{Code::io, problem.empty() ? fmt::format("weir: cannot start the host '{}': it ended", name) : problem}};
}

void kill_host(const State& state, const std::string& name) {
  const ProcessId process = state.host(name);
  if (process.pid <= 1) return;
  const Descriptor descriptor{static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0))};
  if (!descriptor || !process.alive()) return;
  ::syscall(SYS_pidfd_send_signal, descriptor.get(), SIGKILL, nullptr, 0);
}

Inside inside(const State& state, const std::string& name) { return {state.host(name), all_namespaces}; }

Inside network_of(const State& state, const std::string& name) { return {state.host(name), CLONE_NEWNET}; }

int run_on(const State& state, const std::string& host, const std::vector<std::string>& command) {
  std::error_code no_directory;
  const std::string here = std::filesystem::current_path(no_directory).string();
  enter(inside(state, host));
  ::setenv("TMPDIR", state.path("tmp").c_str(), 1);
  ::setenv("UCX_NET_DEVICES", "id0", 1);  // it would take the way to the front end, which is not shaped
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) fail("start a process on a host");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (here.empty() || ::chdir(here.c_str()) != 0) (void)!::chdir("/");
    become(command);
  }
  waited_for = child;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, pass_on);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void become_front_end(const State& state) {
  std::error_code no_directory;
  const std::string here = std::filesystem::current_path(no_directory).string();
  state.add_launch(ProcessId::of(::getpid()));
  enter({state.host(state.cluster().names(Role::compute).front()), CLONE_NEWNS});
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    fail("enter the front end");
  mount_over("proc", "/proc");
  mount_over("tmpfs", state.path("tmp"), "mode=1777");
  ::setenv("TMPDIR", state.path("tmp").c_str(), 1);
  enter({state.host("fe"), CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC});
  if (here.empty() || ::chdir(here.c_str()) != 0) (void)!::chdir("/");
}

}  // namespace weir::box

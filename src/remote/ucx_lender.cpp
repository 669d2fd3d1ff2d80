#if WEIR_HAVE_UCX
#include "remote/ucx_lender.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <unordered_map>
#include <unordered_set>

#include "core/errors.hpp"
#include "core/log.hpp"
#include "remote/ucx_process.hpp"

namespace weir {
namespace {

constexpr double answer_s = 10;  ///< for a process to begin, or to lend a region; others wait meanwhile

class ProcessLender final : public UcxLender {
 public:
  explicit ProcessLender(FrameServer& server) : server_{server} {}
  ~ProcessLender() override {
    for (auto& [session, process] : processes_) end(process);
  }

  Status lend(std::uint64_t session, int memory, RegionAnswer& answer) override {
    auto found = process_of(session);
    if (!found) return found.status();
    Process& process = **found;
    process.regions.insert(answer.region);
    const LenderRequest request{LenderRequest::Verb::lend, answer.region, answer.bytes};
    std::vector<std::byte> bytes(LenderAnswer::most_bytes);
    ssize_t got = send_some(process.socket.get(), std::as_bytes(std::span{&request, 1}), memory);
    if (got > 0 && wait_for(process.socket.get(), POLLIN, Deadline::in(answer_s)))
      got = receive_some(process.socket.get(), bytes);
    else
      got = -1;
    auto lent = LenderAnswer::decode(std::span{bytes}.first(static_cast<std::size_t>(std::max<ssize_t>(got, 0))));
    if (!lent) {
      server_.end(session);
      return problem(Code::io, "cannot lend memory: the process that does it for this client has ended, or stands still");
    }
    if (lent->code != 0) return {static_cast<Code>(lent->code), lent->message};
    answer.address = lent->address;
    answer.key = std::move(lent->key);
    answer.worker = std::move(lent->worker);
    return {};
  }

  void free(std::uint64_t region) noexcept override {
    const LenderRequest request{LenderRequest::Verb::free, region, 0};
    for (auto& [session, process] : processes_)
      if (process.regions.erase(region) > 0 && send_some(process.socket.get(), std::as_bytes(std::span{&request, 1})) < 0)
        server_.end(session);
  }

  void left(std::uint64_t session) noexcept override {
    const auto found = processes_.find(session);
    if (found == processes_.end()) return;
    end(found->second);
    processes_.erase(found);
  }

 private:
  struct Process {
    pid_t pid = -1;
    Descriptor socket;
    std::unordered_set<std::uint64_t> regions;
  };

  Result<Process*> process_of(std::uint64_t session) {
    if (const auto found = processes_.find(session); found != processes_.end()) return &found->second;
    int ends[2] = {};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      return system_problem(errno, "start a process for a client");
    Process process{-1, Descriptor{ends[0]}, {}};
    const Descriptor other{ends[1]};
    process.pid = ::fork();
    if (process.pid == 0) serve_through_ucx(other.get());
    if (process.pid < 0) return system_problem(errno, "start a process for a client");
    const auto ended = [this, session] {
      log_line(LogComponent::net, LogLevel::warn, "client {} is given up: UCX has ended the process that served it",
               session);
      server_.end(session);
    };
    if (Status status = server_.watch(process.socket.get(), ended); !status) return end(process), status;
    return &processes_.emplace(session, std::move(process)).first->second;
  }

  void end(const Process& process) noexcept {
    server_.forget(process.socket.get());
    ::kill(process.pid, SIGKILL);
    while (::waitpid(process.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  FrameServer& server_;
  std::unordered_map<std::uint64_t, Process> processes_;
};

}  // namespace

bool UcxLender::is_built_in() noexcept { return true; }

std::unique_ptr<UcxLender> UcxLender::make(FrameServer& server) { return std::make_unique<ProcessLender>(server); }

}  // namespace weir
#endif

#if WEIR_HAVE_UCX
#include "remote/ucx_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "core/errors.hpp"
#include "net/socket.hpp"
#include "remote/ucx_library.hpp"

namespace weir {

std::vector<std::byte> LenderAnswer::encode() const {
  Writer writer;
  writer.put(code);
  writer.put(message);
  writer.put(address);
  writer.put(key);
  writer.put(worker);
  return writer.data();
}

std::optional<LenderAnswer> LenderAnswer::decode(std::span<const std::byte> message) {
  Reader reader{message};
  LenderAnswer answer;
  reader.get_to(answer.code);
  reader.get_to(answer.message);
  reader.get_to(answer.address);
  reader.get_to(answer.key);
  reader.get_to(answer.worker);
  if (!reader.ok() || !reader.at_end()) return {};
  return answer;
}

namespace {

/// One worker and the regions that a client may reach through it. What it has is given back by the end of the process.
class UcxProcess {
 public:
  explicit UcxProcess(int socket) : socket_{socket} {}

  void run() {
    while (true) {
      const bool idle = progress();
      std::array<pollfd, 2> wanted{{{socket_, POLLIN, 0}, {descriptor_, POLLIN, 0}}};
      if (::poll(wanted.data(), wanted.size(), idle ? -1 : 0) < 0 && errno != EINTR) return;
      if (wanted[0].revents != 0 && !take_request()) return;
    }
  }

 private:
  struct Memory {
    void* data = nullptr;
    std::uint64_t mapped = 0;
    ucp_mem_h handle = nullptr;
    LenderAnswer answer;
  };

  /// Moves transfers forward; false when there is more to do before the process may wait.
  bool progress() noexcept {
    if (!worker_) return true;
    constexpr int most = 64;  // so that requests are not forgotten
    int steps = 0;
    while (steps < most && context_->ucx.ucp_worker_progress(worker_) != 0) ++steps;
    return steps < most && context_->ucx.ucp_worker_arm(worker_) == UCS_OK;
  }

  bool take_request() {
    LenderRequest request;
    Descriptor memory;
    const ssize_t got = receive_some(socket_, std::as_writable_bytes(std::span{&request, 1}), &memory);
    if (got < 0) return errno == EAGAIN;
    if (got != sizeof request) return false;
    if (request.verb == LenderRequest::Verb::free) return free(request.region), true;
    const LenderAnswer answer = lend(request, memory.get());
    const auto bytes = answer.encode();
    return send_some(socket_, bytes) == static_cast<ssize_t>(bytes.size());
  }

  LenderAnswer lend(const LenderRequest& request, int memory) {
    if (const auto found = regions_.find(request.region); found != regions_.end()) return found->second.answer;
    Memory region;
    const Status status = attempt("lend memory", [&]() -> Status {
      if (Status begun = begin(); !begun) return begun;
      return map(request, memory, region);
    });
    if (!status) return {static_cast<std::uint64_t>(status.code()), status.message(), 0, {}, {}};
    return regions_.emplace(request.region, std::move(region)).first->second.answer;
  }

  Status begin() {
    if (worker_) return {};
    if (!context_) {
      auto context = UcxContext::make();
      if (!context) return context.status();
      context_.emplace(*std::move(context));
    }
    const UcxLibrary& ucx = context_->ucx;
    auto worker = context_->new_worker();
    if (!worker) return worker.status();
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    if (auto status = ucx.ucp_worker_get_address(*worker, &address, &length); status != UCS_OK)
      return ucx_problem(ucx, status, "tell where a worker is");
    address_.assign(reinterpret_cast<const char*>(address), reinterpret_cast<const char*>(address) + length);
    ucx.ucp_worker_release_address(*worker, address);
    if (auto status = ucx.ucp_worker_get_efd(*worker, &descriptor_); status != UCS_OK)
      return ucx_problem(ucx, status, "wait");
    worker_ = *worker;
    return {};
  }

  Status map(const LenderRequest& request, int memory, Memory& region) {
    struct stat facts {};
    if (::fstat(memory, &facts) != 0) return system_problem(errno, "lend memory");
    region.mapped = static_cast<std::uint64_t>(facts.st_size);
    region.data = ::mmap(nullptr, region.mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0);
    if (region.data == MAP_FAILED) return system_problem(errno, "lend memory");
    const UcxLibrary& ucx = context_->ucx;
    ucp_mem_map_params_t parameters{};
    parameters.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    parameters.address = region.data;
    parameters.length = request.bytes;
    if (auto status = ucx.ucp_mem_map(context_->handle, &parameters, &region.handle); status != UCS_OK) {
      ::munmap(region.data, region.mapped);
      return ucx_problem(ucx, status, "register memory");
    }
    void* key = nullptr;
    std::size_t length = 0;
    if (auto status = ucx.ucp_rkey_pack(context_->handle, region.handle, &key, &length); status != UCS_OK) {
      unmap(region);
      return ucx_problem(ucx, status, "make a key");
    }
    region.answer.address = reinterpret_cast<std::uint64_t>(region.data);
    region.answer.key.assign(static_cast<const char*>(key), static_cast<const char*>(key) + length);
    region.answer.worker = address_;
    ucx.ucp_rkey_buffer_release(key);
    return {};
  }

  void unmap(const Memory& region) noexcept {
    context_->ucx.ucp_mem_unmap(context_->handle, region.handle);
    ::munmap(region.data, region.mapped);
  }
  void free(std::uint64_t region) noexcept {
    const auto found = regions_.find(region);
    if (found == regions_.end()) return;
    unmap(found->second);
    regions_.erase(found);
  }

  int socket_;
  std::optional<UcxContext> context_;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;  // of the worker; a negative one is not waited for
  std::vector<char> address_;
  std::unordered_map<std::uint64_t, Memory> regions_;
};

}  // namespace

void serve_through_ucx(int socket) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::signal(number, SIG_IGN);  // they are for the server, which ends this
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // a dump would be as large as what is lent
  constexpr int first = 3;
  if (socket != first) ::dup3(socket, first, O_CLOEXEC);
  ::close_range(first + 1, ~0U, 0);
  ::setenv("UCX_HANDLE_ERRORS", "none", 0);
  UcxProcess process{first};
  (void)attempt("lend memory", [&]() -> Status { return process.run(), Status{}; });
  ::_exit(0);
}

}  // namespace weir
#endif

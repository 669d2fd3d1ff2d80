#if WEIR_HAVE_UCX
#include "remote/ucx_lender.hpp"

#include <unordered_map>

#include "core/errors.hpp"
#include "remote/ucx_library.hpp"

namespace weir {
namespace {

class ContextLender final : public UcxLender {
 public:
  ContextLender(UcxContext context, FrameServer& server) : context_{std::move(context)}, server_{server} {}
  ~ContextLender() override {
    for (const auto& [session, worker] : workers_) end(worker);
    for (const auto& [region, memory] : regions_) ucx_.ucp_mem_unmap(context_.handle, memory.handle);
  }

  Status lend(std::uint64_t session, std::uint64_t region, std::byte* data, std::uint64_t bytes,
              RegionAnswer& answer) override {
    auto worker = worker_of(session);
    if (!worker) return worker.status();
    auto memory = memory_of(region, data, bytes);
    if (!memory) return memory.status();
    answer.address = reinterpret_cast<std::uint64_t>(data);
    answer.key = (*memory)->key;
    answer.worker = (*worker)->address;
    return {};
  }
  void free(std::uint64_t region) noexcept override {
    const auto found = regions_.find(region);
    if (found == regions_.end()) return;
    ucx_.ucp_mem_unmap(context_.handle, found->second.handle);
    regions_.erase(found);
  }
  void left(std::uint64_t session) noexcept override {
    const auto found = workers_.find(session);
    if (found == workers_.end()) return;
    end(found->second);
    workers_.erase(found);
  }
  bool is_idle() noexcept override {
    bool idle = true;
    for (auto& [session, worker] : workers_) {
      if (!worker.busy) continue;  // every look at it is a system call, and its descriptor will tell
      constexpr int most = 64;     // so that requests are not forgotten
      int steps = 0;
      while (steps < most && ucx_.ucp_worker_progress(worker.handle) != 0) ++steps;
      worker.busy = steps == most || ucx_.ucp_worker_arm(worker.handle) != UCS_OK;
      idle = idle && !worker.busy;
    }
    return idle;
  }

 private:
  struct Worker {
    ucp_worker_h handle = nullptr;
    int descriptor = -1;
    std::vector<char> address;
    bool busy = true;  ///< until it is armed
  };
  struct Memory {
    ucp_mem_h handle = nullptr;
    std::vector<char> key;
  };

  Result<const Worker*> worker_of(std::uint64_t session) {
    if (const auto found = workers_.find(session); found != workers_.end()) return &found->second;
    auto handle = context_.new_worker();
    if (!handle) return handle.status();
    Worker worker{*handle, -1, {}, true};
    const auto failed = [&](Status status) {
      ucx_.ucp_worker_destroy(worker.handle);
      return status;
    };
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    if (auto status = ucx_.ucp_worker_get_address(worker.handle, &address, &length); status != UCS_OK)
      return failed(ucx_problem(ucx_, status, "tell where a worker is"));
    const char* text = reinterpret_cast<const char*>(address);
    worker.address.assign(text, text + length);
    ucx_.ucp_worker_release_address(worker.handle, address);
    if (auto status = ucx_.ucp_worker_get_efd(worker.handle, &worker.descriptor); status != UCS_OK)
      return failed(ucx_problem(ucx_, status, "wait"));
    const auto wake = [this, session] { workers_.at(session).busy = true; };
    if (Status status = server_.watch(worker.descriptor, wake); !status) return failed(std::move(status));
    return &workers_.emplace(session, std::move(worker)).first->second;
  }

  Result<const Memory*> memory_of(std::uint64_t region, std::byte* data, std::uint64_t bytes) {
    if (const auto found = regions_.find(region); found != regions_.end()) return &found->second;
    ucp_mem_map_params_t parameters{};
    parameters.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    parameters.address = data;
    parameters.length = bytes;
    Memory memory;
    if (auto status = ucx_.ucp_mem_map(context_.handle, &parameters, &memory.handle); status != UCS_OK)
      return ucx_problem(ucx_, status, "register memory");
    void* key = nullptr;
    std::size_t length = 0;
    if (auto status = ucx_.ucp_rkey_pack(context_.handle, memory.handle, &key, &length); status != UCS_OK) {
      ucx_.ucp_mem_unmap(context_.handle, memory.handle);
      return ucx_problem(ucx_, status, "make a key");
    }
    memory.key.assign(static_cast<const char*>(key), static_cast<const char*>(key) + length);
    ucx_.ucp_rkey_buffer_release(key);
    return &regions_.emplace(region, std::move(memory)).first->second;
  }

  void end(const Worker& worker) noexcept {
    server_.forget(worker.descriptor);
    ucx_.ucp_worker_destroy(worker.handle);
  }

  UcxContext context_;
  const UcxLibrary& ucx_ = context_.ucx;
  FrameServer& server_;
  std::unordered_map<std::uint64_t, Worker> workers_;
  std::unordered_map<std::uint64_t, Memory> regions_;
};

}  // namespace

bool UcxLender::is_built_in() noexcept { return true; }

Result<std::unique_ptr<UcxLender>> UcxLender::make(FrameServer& server) {
  auto context = UcxContext::make();
  if (!context) return context.status();
  return std::unique_ptr<UcxLender>{std::make_unique<ContextLender>(*std::move(context), server)};
}

}  // namespace weir
#endif

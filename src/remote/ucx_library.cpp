#if WEIR_HAVE_UCX
#include "remote/ucx_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "core/errors.hpp"

namespace weir {

const UcxLibrary* UcxLibrary::load() noexcept {
  static const std::optional<UcxLibrary> library = []() -> std::optional<UcxLibrary> {
    void* const ucp = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);  // brings libucs
    if (!ucp) return {};
    UcxLibrary found;
#define WEIR_UCX_FIND(name)                                              \
  found.name = reinterpret_cast<decltype(&::name)>(::dlsym(ucp, #name)); \
  if (!found.name) return {};
    WEIR_UCX_FUNCTIONS(WEIR_UCX_FIND)
#undef WEIR_UCX_FIND
    return found;
  }();
  return library ? &*library : nullptr;
}

Status ucx_problem(const UcxLibrary& ucx, ucs_status_t status, std::string_view action) {
  return problem(
      status == UCS_ERR_NO_MEMORY ? Code::no_memory : Code::io,
      [&] { return fmt::format("cannot {} with UCX: {}", action, ucx.ucs_status_string(status)); },
      "UCX_LOG_LEVEL=info tells more, UCX_TLS and UCX_NET_DEVICES choose what it uses");
}

namespace {

/// How large a buffer of a socket may be, as the system says.
std::uint64_t most_buffer(const char* which) {
  std::ifstream file{which};
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : 0;
}

/// Over TCP puts and gets by messages of this size, which hold 64 KiB with all headers, cost less than UCX's own puts
/// and shorter messages, in version 1.13. Buffers that hold several of them keep windows from closing all the time;
/// where the system would cut them, it finds a size by itself. What the user sets stays; where there is no TCP, UCX
/// would complain.
void prefer_messages(const UcxLibrary& ucx, ucp_config_t* config) {
  const char* transports = std::getenv("UCX_TLS");
  if (transports && !std::strstr(transports, "tcp") && !std::strstr(transports, "all")) return;
  const auto want = [&](const char* name, const char* value) {
    if (!std::getenv(fmt::format("UCX_TCP_{}", name).c_str())) (void)ucx.ucp_config_modify(config, name, value);
  };
  want("PUT_ENABLE", "n");
  want("TX_SEG_SIZE", "72k");
  want("RX_SEG_SIZE", "72k");
  constexpr std::uint64_t enough = std::uint64_t{4} << 20;
  if (most_buffer("/proc/sys/net/core/wmem_max") < enough || most_buffer("/proc/sys/net/core/rmem_max") < enough)
    return;
  want("SNDBUF", "4m");
  want("RCVBUF", "4m");
}

}  // namespace

Result<UcxContext> UcxContext::make() {
  const UcxLibrary* ucx = UcxLibrary::load();
  if (!ucx)
    return problem(Code::unsupported, "cannot use UCX: libucp.so.0 is not there, or too old",
                   "install UCX 1.12 or later, or use a memory server on this node, at unix:PATH");
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucx->ucp_config_read(nullptr, nullptr, &config);
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  parameters.features = UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
  parameters.name = "weir";
  ucp_context_h context = nullptr;
  if (status == UCS_OK) {
    prefer_messages(*ucx, config);
    status = ucx->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &parameters, config, &context);
    ucx->ucp_config_release(config);
  }
  if (status != UCS_OK) return ucx_problem(*ucx, status, "begin");
  return UcxContext{*ucx, context};
}

UcxContext::~UcxContext() {
  if (handle) ucx.ucp_cleanup(handle);
}

Result<ucp_worker_h> UcxContext::new_worker() const {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  if (const ucs_status_t status = ucx.ucp_worker_create(handle, &parameters, &worker); status != UCS_OK)
    return ucx_problem(ucx, status, "make a worker");
  return worker;
}

}  // namespace weir
#endif

#pragma once

#include <ucp/api/ucp.h>

#include <weir/status.hpp>

/// UCX, loaded when it is first needed: processes that do not use it are not to have its signal handlers and hooks.
namespace weir {

#define WEIR_UCX_FUNCTIONS(apply)                                                                                      \
  apply(ucp_init_version) apply(ucp_cleanup) apply(ucp_config_read) apply(ucp_config_release) apply(ucp_config_modify) \
      apply(ucp_worker_create) apply(ucp_worker_destroy) apply(ucp_worker_get_address)                                 \
          apply(ucp_worker_release_address) apply(ucp_worker_get_efd) apply(ucp_worker_arm) apply(ucp_worker_progress) \
              apply(ucp_mem_map) apply(ucp_mem_unmap) apply(ucp_rkey_pack) apply(ucp_rkey_buffer_release)              \
                  apply(ucp_ep_create) apply(ucp_ep_close_nbx) apply(ucp_ep_rkey_unpack) apply(ucp_rkey_destroy)       \
                      apply(ucp_put_nbx) apply(ucp_get_nbx) apply(ucp_ep_flush_nbx) apply(ucp_request_free)            \
                          apply(ucp_request_check_status) apply(ucs_status_string)

struct UcxLibrary {
#define WEIR_UCX_MEMBER(name) decltype(&::name) name = nullptr;
  WEIR_UCX_FUNCTIONS(WEIR_UCX_MEMBER)
#undef WEIR_UCX_MEMBER

  /// The same for the whole life of the process; null when it is not installed.
  static const UcxLibrary* load() noexcept;
};

/// A context of our own beside one that an MPI library may have, and workers in it for one thread each.
class UcxContext {
 public:
  static Result<UcxContext> make();
  UcxContext(UcxContext&& other) noexcept : ucx{other.ucx}, handle{std::exchange(other.handle, nullptr)} {}
  ~UcxContext();
  Result<ucp_worker_h> new_worker() const;

  const UcxLibrary& ucx;
  ucp_context_h handle;

 private:
  UcxContext(const UcxLibrary& library, ucp_context_h context) : ucx{library}, handle{context} {}
};

Status ucx_problem(const UcxLibrary& ucx, ucs_status_t status, std::string_view action);

}  // namespace weir

#if WEIR_HAVE_UCX
#include "remote/ucx_client.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/errors.hpp"
#include "net/deadline.hpp"
#include "remote/server_link.hpp"
#include "remote/ucx_library.hpp"

namespace weir {
namespace {

constexpr double close_s = 1;  ///< for transfers to end after an endpoint was closed by force

class EndpointClient final : public DataClient {
 public:
  explicit EndpointClient(UcxContext context) : context_{std::move(context)} {}
  ~EndpointClient() override {
    give_up();
    if (worker_) ucx_.ucp_worker_destroy(worker_);
  }

  Result<std::unique_ptr<RemoteRegion>> open(std::shared_ptr<ServerLink> link, const RegionAnswer& answer) override;

  bool progress() noexcept override { return pending_ > 0 && ucx_.ucp_worker_progress(worker_) > 0; }
  pollfd news() noexcept override {
    int descriptor = -1;
    if (!worker_ || ucx_.ucp_worker_get_efd(worker_, &descriptor) != UCS_OK) return {-1, 0, 0};
    return {ucx_.ucp_worker_arm(worker_) == UCS_OK ? descriptor : -1, POLLIN, 0};
  }
  [[nodiscard]] std::uint64_t long_piece() const noexcept override { return 32 << 10; }
  [[nodiscard]] std::size_t pending() const noexcept override { return pending_; }
  Status flush() noexcept override {
    if (!endpoint_) return {};
    const ucp_request_param_t parameters = with_callback();
    return started(ucx_.ucp_ep_flush_nbx(endpoint_, &parameters), "flush");
  }
  Status failure() noexcept override { return failed_ == UCS_OK ? Status{} : ucx_problem(ucx_, failed_, "move data"); }

  void give_up() noexcept override {
    if (!endpoint_) return;
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* const closing = ucx_.ucp_ep_close_nbx(endpoint_, &parameters);
    endpoint_ = nullptr;
    const Deadline deadline = Deadline::in(close_s);
    const auto is_closing = [&] {
      return UCS_PTR_IS_PTR(closing) && ucx_.ucp_request_check_status(closing) == UCS_INPROGRESS;
    };
    while ((pending_ > 0 || is_closing()) && !deadline.is_over()) ucx_.ucp_worker_progress(worker_);
    if (UCS_PTR_IS_PTR(closing)) ucx_.ucp_request_free(closing);
    pending_ = 0;  // without an endpoint, and with a worker that is never called again, none is under way
    note(UCS_ERR_CANCELED);
  }

  Status put(const std::byte* data, std::uint64_t bytes, std::uint64_t address, ucp_rkey_h key) noexcept {
    if (!endpoint_) return failure();
    const ucp_request_param_t parameters = with_callback();
    return started(ucx_.ucp_put_nbx(endpoint_, data, bytes, address, key, &parameters), "put");
  }
  Status get(std::byte* data, std::uint64_t bytes, std::uint64_t address, ucp_rkey_h key) noexcept {
    if (!endpoint_) return failure();
    const ucp_request_param_t parameters = with_callback();
    return started(ucx_.ucp_get_nbx(endpoint_, data, bytes, address, key, &parameters), "get");
  }
  void destroy(ucp_rkey_h key) noexcept { ucx_.ucp_rkey_destroy(key); }

 private:
  ucp_request_param_t with_callback() noexcept {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    parameters.cb.send = [](void* request, ucs_status_t status, void* user) {
      auto* client = static_cast<EndpointClient*>(user);
      if (client->pending_ > 0) --client->pending_;
      client->note(status);
      client->ucx_.ucp_request_free(request);
    };
    parameters.user_data = this;
    return parameters;
  }
  Status started(ucs_status_ptr_t request, std::string_view action) noexcept {
    if (UCS_PTR_IS_PTR(request)) return ++pending_, Status{};
    if (UCS_PTR_STATUS(request) == UCS_OK) return {};
    note(UCS_PTR_STATUS(request));
    return ucx_problem(ucx_, UCS_PTR_STATUS(request), action);
  }
  void note(ucs_status_t status) noexcept {
    if (failed_ == UCS_OK) failed_ = status;
  }
  Status connect(const std::vector<char>& address);

  UcxContext context_;
  const UcxLibrary& ucx_ = context_.ucx;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::size_t pending_ = 0;
  ucs_status_t failed_ = UCS_OK;
};

class UcxRegion final : public RemoteRegion {
 public:
  UcxRegion(std::shared_ptr<ServerLink> link, EndpointClient& client, const RegionAnswer& answer, ucp_rkey_h key)
      : link_{std::move(link)},
        client_{client},
        id_{answer.region},
        address_{answer.address},
        size_{answer.bytes},
        key_{key} {}
  ~UcxRegion() override;

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::byte* mapped() const noexcept override { return nullptr; }

  Status put(std::uint64_t offset, const std::byte* data, std::uint64_t bytes) noexcept override {
    if (!is_inside(size_, offset, bytes)) return outside(size_, offset, bytes);
    if (bytes == 0) return {};
    link_->moved.put += bytes;
    return client_.put(data, bytes, address_ + offset, key_);
  }
  Status get(std::uint64_t offset, std::byte* data, std::uint64_t bytes) noexcept override {
    if (!is_inside(size_, offset, bytes)) return outside(size_, offset, bytes);
    if (bytes == 0) return {};
    link_->moved.got += bytes;
    return client_.get(data, bytes, address_ + offset, key_);
  }

 private:
  std::shared_ptr<ServerLink> link_;
  EndpointClient& client_;
  std::uint64_t id_, address_, size_;
  ucp_rkey_h key_;
};

UcxRegion::~UcxRegion() {
  (void)link_->settle();  // what was put is there before others may have the memory
  client_.destroy(key_);
  link_->release(id_);
}

Status EndpointClient::connect(const std::vector<char>& address) {
  auto worker = context_.new_worker();
  if (!worker) return worker.status();
  worker_ = *worker;
  ucp_ep_params_t parameters{};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.cb = [](void* client, ucp_ep_h, ucs_status_t status) {
    static_cast<EndpointClient*>(client)->note(status);
  };
  parameters.err_handler.arg = this;
  if (auto status = ucx_.ucp_ep_create(worker_, &parameters, &endpoint_); status != UCS_OK)
    return ucx_problem(ucx_, status, "connect to the server");
  return {};
}

Result<std::unique_ptr<RemoteRegion>> EndpointClient::open(std::shared_ptr<ServerLink> link,
                                                           const RegionAnswer& answer) {
  if (Status status = failure(); !status) return status;
  if (!endpoint_)
    if (Status status = connect(answer.worker); !status) return status;
  ucp_rkey_h key = nullptr;
  if (auto status = ucx_.ucp_ep_rkey_unpack(endpoint_, answer.key.data(), &key); status != UCS_OK)
    return ucx_problem(ucx_, status, "use the key of a region");
  return std::unique_ptr<RemoteRegion>{std::make_unique<UcxRegion>(std::move(link), *this, answer, key)};
}

}  // namespace

Result<std::unique_ptr<DataClient>> make_ucx_client() {
  auto context = UcxContext::make();
  if (!context) return context.status();
  return std::unique_ptr<DataClient>{std::make_unique<EndpointClient>(*std::move(context))};
}

}  // namespace weir
#endif

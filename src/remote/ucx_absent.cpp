#if !WEIR_HAVE_UCX
#include "core/errors.hpp"
#include "remote/ucx_client.hpp"
#include "remote/ucx_lender.hpp"

namespace weir {
namespace {

Status built_without_ucx() { return problem(Code::unsupported, "cannot use UCX: Weir was built without it"); }

}  // namespace

bool UcxLender::is_built_in() noexcept { return false; }
std::unique_ptr<UcxLender> UcxLender::make(FrameServer&) { return nullptr; }
Result<std::unique_ptr<DataClient>> make_ucx_client() { return built_without_ucx(); }

}  // namespace weir
#endif

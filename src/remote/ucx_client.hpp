#pragma once

#include "remote/data_client.hpp"

namespace weir {

/// Puts and gets through UCX. `unsupported` where Weir was built without it, or it is not installed.
Result<std::unique_ptr<DataClient>> make_ucx_client();

}  // namespace weir

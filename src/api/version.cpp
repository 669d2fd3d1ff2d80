#include <weir/weir.hpp>

namespace weir {

const char* version() noexcept { return WEIR_VERSION; }

}  // namespace weir

#include "remote/transfer_heading.hpp"

#include <xxhash.h>

namespace weir {

std::uint64_t TransferHeading::right_sum() const noexcept { return XXH3_64bits(this, offsetof(TransferHeading, sum)); }

}  // namespace weir

#pragma once

#include <string>

namespace weir {

/// A new file that is gone when its last descriptor is; -1 with errno when there is none.
int nameless_file(const std::string& directory);

/// Reserves its first bytes on the device; 0 or an errno.
int reserve_space(int descriptor, unsigned long long bytes) noexcept;

}  // namespace weir

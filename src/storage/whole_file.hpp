#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace weir {

Result<std::vector<std::byte>> read_whole(StorageSystem& system, const std::string& path);

/// Creates the file; when it cannot be written whole there is none.
Status write_whole(StorageSystem& system, const std::string& path, std::span<const std::byte> content, bool durable);

}  // namespace weir

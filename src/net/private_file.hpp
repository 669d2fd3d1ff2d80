#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <weir/status.hpp>

namespace weir {

/// The contents of a small file that belongs to this user and that nobody else may read or change.
Result<std::string> read_private_file(const std::string& path, std::string_view what, std::size_t most_bytes);

/// Makes or replaces one in a single step: others see all of it or nothing.
Status write_private_file(const std::string& path, std::string_view contents);

}  // namespace weir

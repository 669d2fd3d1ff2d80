#pragma once

#include <string>
#include <string_view>

namespace weir {

/// A basic string of TOML.
std::string toml_text(std::string_view text);

}  // namespace weir

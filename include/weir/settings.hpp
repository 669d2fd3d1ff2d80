#pragma once

#include <map>
#include <string>

namespace weir {

/// Setting names and values, such as {"plan.buffers", "3"}.
using Settings = std::map<std::string, std::string>;

}  // namespace weir

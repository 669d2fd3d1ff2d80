#pragma once

#include <string>
#include <string_view>
#include <weir/status.hpp>

#include "core/paths.hpp"

namespace weir {

/// The status for an errno from a storage: "weir: cannot <verb> '<path>'<detail>: <reason>", and what helps against it.
Status storage_problem(int error, std::string_view verb, const std::string& path,
                       std::string_view detail = {}) noexcept;

}  // namespace weir

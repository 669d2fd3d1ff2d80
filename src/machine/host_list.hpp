#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The names that a scheduler's list stands for: "n[0-3,7],login" are n0, n1, n2, n3, n7 and login. Numbers keep their
/// leading zeros; a name may have several brackets. Nothing when malformed or more than a million names; `why` says
/// what.
std::optional<std::vector<std::string>> expand_host_list(std::string_view text, std::string& why);

}  // namespace weir

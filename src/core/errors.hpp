#pragma once

#include <string>
#include <string_view>

#include <weir/status.hpp>

namespace weir {

/// The class of an errno: ENOSPC is `Code::no_space`, EDQUOT `Code::quota`, and so on; unknown ones are `Code::io`.
Code code_of(int error) noexcept;

/// The system's own words for an errno, without allocating.
const char* reason_of(int error) noexcept;

/// A message in the form that all of Weir's have: "weir: cannot <action>: <reason>", then what to do, indented.
Status problem(Code code, std::string_view what, std::string_view remedy = {}) noexcept;

/// `problem` for an errno.
Status system_problem(int error, std::string_view action, std::string_view remedy = {}) noexcept;

}  // namespace weir

#pragma once

#include <concepts>
#include <new>
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

/// The same with a text that still has to be put together: without memory for it there is none, but the code stays.
template <std::invocable Text>
Status problem(Code code, Text&& what, std::string_view remedy = {}) noexcept {
  try {
    return problem(code, std::string_view{what()}, remedy);
  } catch (const std::bad_alloc&) {
    return {code, {}};
  }
}

/// Runs this rank's own work between two meetings of all ranks, who may count on it to come to the next one: what it has
/// no memory for becomes a status.
template <class Work>
Status attempt(std::string_view action, Work&& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return problem(Code::no_memory, [&] { return std::string{"cannot "}.append(action).append(": out of memory"); },
                   "give the job more memory");
  }
}

/// `problem` for an errno.
Status system_problem(int error, std::string_view action, std::string_view remedy = {}) noexcept;

}  // namespace weir

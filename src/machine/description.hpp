#pragma once

#include <string>
#include <string_view>
#include <weir/status.hpp>

#include "machine/machine.hpp"

namespace weir {

/// The machine that a description in TOML gives (docs/machines.md). What is wrong in it is told with line and column;
/// `origin_name` is the file's name in such messages.
Result<Machine> read_machine(std::string_view toml_text, std::string_view origin_name);

/// A description that reads as an equal machine again. Numbers that nobody knows are left out.
std::string write_machine(const Machine& machine);

}  // namespace weir

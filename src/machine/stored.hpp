#pragma once

#include <span>
#include <string>
#include <string_view>
#include <weir/status.hpp>

#include "machine/machine.hpp"

namespace weir {

/// A description that the library carries: a file of machines/.
struct StoredMachine {
  std::string_view name;
  std::string_view text;
};

/// All of them, by name.
std::span<const StoredMachine> stored_machines();
Result<Machine> stored_machine(std::string_view name);

/// The machine that a user means: a stored one's name, a file (a description, or a topology.conf of Slurm), or a short
/// text.
Result<Machine> find_machine(const std::string& text);

}  // namespace weir

#pragma once

#include <CLI/CLI.hpp>

namespace weir::tools {

/// `weir box compare`: what `weir bench --box` timed beside the same plans in simulation. Needs no box.
void add_box_compare(CLI::App& group);

}  // namespace weir::tools

#pragma once

#include <string_view>
#include <weir/status.hpp>

#include "machine/machine.hpp"

namespace weir {

/// A machine in a line, for tests and for what-if questions (docs/machines.md has the grammar):
/// "torus 4x4x4x4x2 link 2GBps latency 1us gateway every 128 bridges 2 ranks 16 bank dram 16GB 20GBps 100ns".
/// All of its figures are `configured`. A problem names the word, its position and what was expected.
Result<Machine> parse_short_text(std::string_view text);

/// Whether a text begins like one of these.
bool is_short_text(std::string_view text);

}  // namespace weir

#pragma once

#include <string>
#include <vector>

namespace weir::bench {

/// Lines of cells, each column as wide as its widest cell.
std::string aligned(const std::vector<std::vector<std::string>>& lines);
/// The same for a page, the first line as its head.
std::string markdown(const std::vector<std::vector<std::string>>& lines);

}  // namespace weir::bench

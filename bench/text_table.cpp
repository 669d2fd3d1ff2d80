#include "text_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace weir::bench {

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c) row += fmt::format("{:<{}}  ", line[c], widths[c]);
    text += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string markdown(const std::vector<std::vector<std::string>>& lines) {
  std::string text;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    text += fmt::format("| {} |\n", fmt::join(lines[k], " | "));
    if (k == 0) text += fmt::format("|{}|\n", fmt::join(std::vector<std::string>(lines[0].size(), "---"), "|"));
  }
  return text + "\n";
}

}  // namespace weir::bench

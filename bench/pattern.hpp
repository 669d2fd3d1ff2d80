#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
#include <weir/declaration.hpp>

/// Declarations of any number of pieces, to see what planning costs.
namespace weir::bench {

/// One line of the table of patterns.
struct Pattern {
  std::string name;
  std::string meaning;
  /// What each of `ranks` ranks declares; about `pieces` pieces together, the same ones in every call.
  std::vector<Declaration> (*make)(std::uint64_t pieces, int ranks);
};

const std::vector<Pattern>& pattern_table();

}  // namespace weir::bench

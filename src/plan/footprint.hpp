#pragma once

#include <cstdint>
#include <vector>

#include "plan/file_groups.hpp"
#include "plan/rank_declaration.hpp"

namespace weir {

/// Where a rank's bytes lie, in few words: what all ranks tell one another before they plan.
struct Footprint {
  /// Bytes that lie in [offset, offset + span), spread evenly as far as anybody else knows.
  struct Entry {
    std::uint64_t offset, span, bytes;
    [[nodiscard]] std::uint64_t end() const noexcept { return offset + span; }
    [[nodiscard]] bool dense() const noexcept { return span == bytes; }
  };
  std::vector<Entry> entries;  ///< sorted by offset
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;

  /// At most about `limit` entries and one a variable and sub-file.
  static Footprint of(const RankDeclaration& declaration, std::size_t limit, const FileGroups& files = {});
};

}  // namespace weir

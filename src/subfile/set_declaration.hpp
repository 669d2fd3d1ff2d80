#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "subfile/set_index.hpp"

namespace weir {

/// What a plan for a set of sub-files remembers of how it was made.
struct SetPlan {
  std::uint64_t space = 0;          ///< sets that it fits have the same; 0: it is for a plain file
  RankDeclaration declared;         ///< as the program said it
  std::uint64_t rank_at = 0;        ///< writing: where this rank's stretch begins in a section
  std::uint64_t section_bytes = 0;  ///< writing: of a section in this rank's sub-file
  std::uint64_t most_bytes = 0;     ///< writing: of a section in the sub-file that has the most

  void write(Writer& out) const;
  static SetPlan read(Reader& in);
};

/// Bytes of all variables together in a rank's memory.
std::uint64_t packed_bytes(const RankDeclaration& declaration);

/// What a rank writes to its sub-file, in the space of `FileGroups`: its variables one after another from `at` on.
RankDeclaration packed_from(const RankDeclaration& declaration, std::uint64_t at);

/// Finds what ranks want to read in the sub-files of a set.
class SetLookup {
 public:
  /// `holder_of`: the nodes on which the sub-files lie, where that matters.
  explicit SetLookup(SetIndex index, std::vector<int> holder_of = {});

  [[nodiscard]] const SetIndex& index() const noexcept { return index_; }
  [[nodiscard]] const FileGroups& files() const noexcept { return files_; }
  /// `wanted` in the space of `FileGroups`, every variable with a shape of its own. A byte that nobody wrote is
  /// `Code::end_of_file`. `path` is for messages.
  [[nodiscard]] Result<RankDeclaration> find(const RankDeclaration& wanted, const std::string& path) const;

  /// Extents of the file outside of which nothing was written, in order.
  [[nodiscard]] std::vector<Extent> reach() const;
  /// Some bytes of the file and where they are.
  struct Hit {
    std::uint64_t offset, length, memory, place;
    std::uint64_t strength;  // of two that hold the same byte the greater one wins
  };
  /// What was written within an extent, every byte once, by offset; `memory` counts from the extent's beginning.
  [[nodiscard]] std::vector<Hit> written(Extent within) const;

 private:
  /// Of a pattern, worked out once.
  struct Reach {
    std::vector<Extent> shapes;                           // from the first to the last piece of all ranks
    std::vector<std::vector<std::uint64_t>> variable_at;  // by rank and variable, in the rank's stretch
  };

  [[nodiscard]] std::vector<Hit> hits(const PieceList& wanted, std::uint64_t at) const;
  void add_hits(const PieceList& wanted, std::uint64_t at, const SetIndex::Section& section, std::size_t variable,
                std::uint64_t strength, std::vector<Hit>& found) const;
  /// Sorted by offset, every byte once.
  static void keep_strongest(std::vector<Hit>& hits);

  SetIndex index_;
  FileGroups files_;
  std::vector<Reach> reach_;
};

}  // namespace weir

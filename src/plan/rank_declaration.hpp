#pragma once

#include <cstdint>
#include <vector>

#include "core/archive.hpp"
#include "core/pieces.hpp"

namespace weir {

/// A declaration as the planner wants it: checked, every decomposition a sorted list.
struct RankDeclaration {
  using Variable = Declaration::Variable;
  /// What a shape needs in memory: more than its pieces when they overlap.
  struct Memory {
    std::uint64_t bytes = 0;
    std::vector<Echo> echoes;
  };
  std::vector<PieceList> shapes;
  std::vector<Memory> memory;  ///< by shape; empty in unions of several ranks
  std::vector<Variable> variables;

  static Result<RankDeclaration> of(const Declaration& declaration);

  [[nodiscard]] const PieceList& pieces(std::size_t variable) const { return shapes[variables[variable].shape]; }
  [[nodiscard]] std::uint64_t bytes() const;
  /// What each variable needs in memory.
  [[nodiscard]] std::vector<std::uint64_t> variable_bytes() const;
  [[nodiscard]] std::uint64_t piece_count() const;
  [[nodiscard]] std::uint64_t list_bytes() const;
  /// Of everything in it.
  [[nodiscard]] std::uint64_t hash() const;
  /// Of what must be equal on all ranks: the variables, their decompositions and places.
  [[nodiscard]] std::uint64_t outline_hash() const;

  /// The same with all offsets moved.
  [[nodiscard]] Result<RankDeclaration> moved(std::uint64_t shift) const;

  void write(Writer& out) const;
  static RankDeclaration read(Reader& in);
};

}  // namespace weir

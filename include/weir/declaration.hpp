#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include <weir/status.hpp>

namespace weir {

/// `count` pieces of `length` bytes, the first at `offset`, each `stride` after the one before.
struct Run {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t stride = 0;
  std::uint64_t count = 1;
};

/// A rectangular part of an N-dimensional array stored at byte `at`, last dimension fastest.
struct Box {
  std::vector<std::uint64_t> array;  ///< elements of the whole array in each dimension
  std::vector<std::uint64_t> start;  ///< first element of this rank's part
  std::vector<std::uint64_t> size;   ///< elements of this rank's part; 0 in any dimension: this rank has none
  std::uint64_t element = 1;         ///< bytes of an element
  std::uint64_t at = 0;
};

/// What one rank will move. All ranks make the same calls with their own parts; a rank with nothing gives none.
///
/// In memory the pieces of a variable lie one after another in the order in which they are given.
/// Where pieces overlap in the file, the higher rank wins; within a rank the variable declared later, and within a
/// variable the piece given later.
class Declaration {
 public:
  Declaration() = default;
  /// One variable a run.
  Declaration(std::initializer_list<Run> variables) {
    for (const Run& run : variables) variable(run);
  }

  /// A decomposition, to be used by many variables at different places at the cost of one.
  int decomposition(std::vector<Run> runs);
  int decomposition(const Box& box);

  /// A variable whose pieces are those of `decomposition`, moved by `at` bytes (the same on every rank).
  int variable(int decomposition, std::uint64_t at);
  /// A variable with pieces of its own.
  int variable(std::vector<Run> runs) { return variable(decomposition(std::move(runs)), 0); }
  int variable(const Run& run) { return variable(std::vector<Run>{run}); }
  int variable(const Box& box) { return variable(decomposition(box), 0); }

  [[nodiscard]] int variables() const noexcept { return static_cast<int>(variables_.size()); }

  struct Shape {
    std::vector<Run> runs;
    Status problem;  ///< why it cannot be used, told by `declare`
  };
  struct Variable {
    int shape;
    std::uint64_t at;
  };
  [[nodiscard]] const std::vector<Shape>& shapes() const noexcept { return shapes_; }
  [[nodiscard]] const std::vector<Variable>& variable_list() const noexcept { return variables_; }

 private:
  std::vector<Shape> shapes_;
  std::vector<Variable> variables_;
};

}  // namespace weir

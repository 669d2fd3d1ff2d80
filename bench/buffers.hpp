#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "workload.hpp"

namespace weir::bench {

/// The application's memory on one rank: an array for each variable, none next to another.
class Buffers {
 public:
  explicit Buffers(Part part);

  [[nodiscard]] const Part& part() const noexcept { return part_; }
  [[nodiscard]] std::size_t variables() const noexcept { return part_.variables.size(); }
  /// Of the variable's decomposition, in memory's order, before `at` is added.
  [[nodiscard]] const std::vector<Piece>& pieces(std::size_t variable) const { return pieces_[shape(variable)]; }
  [[nodiscard]] std::uint64_t bytes(std::size_t variable) const { return shape_bytes_[shape(variable)]; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return total_; }
  /// All arrays lie behind this address, each at its own distance.
  [[nodiscard]] std::byte* base() const noexcept { return memory_.get(); }
  [[nodiscard]] std::uint64_t distance(std::size_t variable) const { return distances_[variable]; }
  [[nodiscard]] std::byte* data(std::size_t variable) const { return base() + distances_[variable]; }

  void fill(std::uint64_t seed);
  void poison();
  /// What is wrong after reading, or nothing; bytes beside the arrays must be as `poison` left them.
  [[nodiscard]] std::string check(std::uint64_t seed) const;

 private:
  [[nodiscard]] std::size_t shape(std::size_t variable) const {
    return static_cast<std::size_t>(part_.variables[variable].decomposition);
  }
  Part part_;
  std::vector<std::vector<Piece>> pieces_;
  std::vector<std::uint64_t> shape_bytes_;
  std::vector<std::uint64_t> distances_;
  std::uint64_t total_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace weir::bench

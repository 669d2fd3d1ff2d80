#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "mpi/random_declaration.hpp"

namespace weir::testing {

/// A datatype and, made beside it in the slow and obvious way, where each byte of its data lies.
class RandomType {
 public:
  /// `tame`: ascending, and of the constructors that all MPI libraries get right.
  enum class Order { tame, ascending, any };

  /// A predefined type.
  explicit RandomType(MPI_Datatype named);
  /// Some type made of several of these; places are multiples of `unit` bytes. In ascending order it can be a file
  /// type.
  static RandomType make(Random& random, const RandomType& base, std::int64_t unit, Order order, int depth);
  /// `count` of them, the first at `at` bytes, in a type of an extent of its own.
  [[nodiscard]] RandomType placed(int count, std::int64_t at, std::int64_t extent) const;
  RandomType(RandomType&& other) noexcept;
  RandomType& operator=(RandomType&& other) noexcept;
  ~RandomType();

  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return map_.size(); }
  [[nodiscard]] std::int64_t low() const noexcept { return low_; }
  [[nodiscard]] std::int64_t extent() const noexcept { return extent_; }
  /// Where a byte of the data lies, when the type is laid down again and again.
  [[nodiscard]] std::int64_t operator[](std::uint64_t byte) const {
    return map_[byte % size()] + static_cast<std::int64_t>(byte / size()) * extent_;
  }

 private:
  RandomType() = default;
  void add(const RandomType& part, std::int64_t count, std::int64_t at);
  void commit();
  static RandomType once(Random& random, const RandomType& inner, std::int64_t unit, Order order);
  static RandomType array(Random& random, const RandomType& inner);
  static RandomType distributed_array(Random& random, const RandomType& inner);

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool own_ = false;
  std::vector<std::int64_t> map_;
  std::int64_t low_ = 0, extent_ = 0;
};

}  // namespace weir::testing

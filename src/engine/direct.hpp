#pragma once

#include <vector>

#include "engine/pass.hpp"

namespace weir {

/// Moves a rank's own data between its variables and the file, without anybody else.
class Direct {
 public:
  explicit Direct(Pass& pass) : pass_{pass} {}

  /// Moves one variable. With a storage that works in the background it may still be under way on return.
  void move(std::size_t variable, std::byte* memory) noexcept;
  bool progress() noexcept;
  [[nodiscard]] bool done() const noexcept { return in_flight_ == 0; }
  [[nodiscard]] bool storing() const noexcept { return in_flight_ > 0; }

 private:
  void submit(std::uint64_t offset, std::uint64_t length, std::byte* memory) noexcept;
  void collect() noexcept;

  static constexpr std::size_t most_ios = 16;
  struct Entry {
    Io io;
    bool taken = false;
  };
  Pass& pass_;
  std::vector<Entry> ios_{most_ios};
  std::size_t in_flight_ = 0;
};

}  // namespace weir

#pragma once

#include <cstdint>

namespace weir::bench {

/// The growth of this process's resident memory since construction, at its peak. Memory that was freed before is given
/// back to the system first, so that its reuse counts as growth.
class ResidentMemory {
 public:
  ResidentMemory();
  [[nodiscard]] std::uint64_t peak_growth() const;

 private:
  std::uint64_t before_;
};

}  // namespace weir::bench

#pragma once

#include <cstdint>
#include <string>

namespace weir {

/// What the planner wants to know about a place before it writes there.
struct StorageTraits {
  std::string kind;               ///< "posix", "null", "memory"
  std::string file_system;        ///< "ext4", "tmpfs", "lustre", ...
  std::uint64_t block = 4096;     ///< unit in which domains are aligned
  std::uint64_t stripe = 0;       ///< 0: not striped
  bool local = true;              ///< on this node, so that several writers of one block cost little
  bool shared = true;             ///< what one process stores another can read
  bool coherent = true;           ///< parts of one page that several nodes write at once all arrive
};

}  // namespace weir

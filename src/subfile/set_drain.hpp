#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/stopwatch.hpp"
#include "subfile/set_declaration.hpp"
#include "subfile/set_storage.hpp"

namespace weir {

/// Copies what one node holds of a set to the plain file that it stands for. No MPI: it may run in a thread of its own,
/// while other nodes do the same with their parts.
class SetDrain {
 public:
  /// Two buffers of `buffer` bytes. `system`, `lookup` and `files` must outlive it, and nobody else may use `system`.
  SetDrain(StorageSystem& system, const SetLookup& lookup, const SubFiles& files, int node, std::uint64_t buffer);

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// Bytes of this node that are copied, at any time from any thread.
  [[nodiscard]] std::uint64_t done() const noexcept { return done_.load(std::memory_order_relaxed); }

  /// Opens what it will read, so that it is there even when another set takes its place.
  Status open();
  /// Copies all of it to `target`, which exists, and makes that durable, with at most `rate` bytes a second unless that
  /// is 0. Ends early after `stop`.
  Status run(const std::string& target, std::uint64_t rate = 0);
  void stop() noexcept { stopped_ = true; }

 private:
  using Hits = std::vector<SetLookup::Hit>;
  [[nodiscard]] bool is_here(std::uint32_t file) const noexcept { return files_.space.holder_of[file] == node_; }
  /// Waits until what was copied is no more than the rate allows.
  void keep_to(std::uint64_t rate, const Stopwatch& since) const;
  Status copy(Extent part, Storage& to, const std::string& target);
  Status load(Hits& hits);
  Status store(Hits& hits, std::uint64_t begin, Storage& to, const std::string& target);

  StorageSystem& system_;
  const SetLookup& lookup_;
  const SubFiles& files_;
  int node_;
  std::vector<std::byte> loaded_, whole_;  // as in a sub-file, and as in the file
  Status problem_;                         // of a sub-file
  SetStorage from_;
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace weir

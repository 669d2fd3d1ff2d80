#pragma once

#include <cstdint>
#include <string>

#include <weir/weir.hpp>

#include "engine/arena.hpp"
#include "exchange/link.hpp"
#include "storage/storage.hpp"

namespace weir {

/// Opens a file when it is first needed, once.
class LazyStorage {
 public:
  virtual ~LazyStorage() = default;
  /// The open file, or null when it cannot be opened: then `error` tells why.
  virtual Storage* get() noexcept = 0;
  [[nodiscard]] virtual const Status& error() const noexcept = 0;
  /// Whether it was empty when it was opened.
  [[nodiscard]] virtual bool fresh() const noexcept = 0;
  /// The name of the file, or of the sub-file, that has an offset, and the offset in it.
  struct Place {
    std::string name;
    std::uint64_t offset;
  };
  [[nodiscard]] virtual Place place_of(std::uint64_t offset) const = 0;
};

/// What the parts of a rank share while they carry out a plan.
struct Pass {
  Team& team;
  const RankPlan& plan;
  LazyStorage& storage;
  std::uint64_t shift = 0;   ///< added to every file offset
  std::string path;          ///< for messages
  Link* link = nullptr;      ///< null on one node, and before the step has its buffers
  Report report;
  Outcome outcome;

  [[nodiscard]] const Layout& layout() const noexcept { return plan.layout; }
  [[nodiscard]] bool failed() const noexcept { return outcome.code != 0; }
  /// Remembers the first thing that went wrong on this rank.
  void fail(const Status& status) noexcept { outcome.fail(status, team.rank()); }
  /// Describes a failed transfer and remembers it.
  void fail_io(const Io& io) noexcept;
  /// Wakes ranks of this node.
  void ring(const std::vector<int>& ranks) noexcept {
    for (const int rank : ranks) team.doorbell(team.local_rank_of(rank)).ring();
  }
};

/// Seconds, for the report.
double now() noexcept;

}  // namespace weir

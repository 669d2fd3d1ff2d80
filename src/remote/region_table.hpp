#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>
#include <weir/status.hpp>

#include "remote/remote_memory.hpp"

namespace weir {

/// Who may use which region of a server, and how much each client has: the rules, without the memory.
///
/// A region belongs to the session that reserved it and is gone when that releases it or leaves; who is attached then
/// keeps the memory until it lets go, but nobody finds it any more. Numbers of regions are never used twice, so that
/// what is said about an old one reaches no other.
class RegionTable {
 public:
  struct Limits {
    std::uint64_t total = 0;
    std::uint64_t per_client = 0;
    std::size_t regions_per_client = 1024;
    std::uint64_t page = 4096;
  };
  struct Usage {
    std::uint64_t regions = 0, bytes = 0, attached = 0;
  };
  using Session = std::uint64_t;
  using Region = std::uint64_t;

  explicit RegionTable(const Limits& limits) : limits_{limits} {}

  /// Whole pages count. To be called before anything is allocated. `exists`, or `no_memory` when one of the limits is
  /// reached.
  Result<Region> reserve(Session owner, const RegionName& name, std::uint64_t bytes);
  /// `not_found` when there is none.
  Result<Region> attach(Session session, const RegionName& name);
  /// True when nobody has it any more and its memory is to be given back; `not_found` when it is not the session's.
  Result<bool> release(Session session, Region region);
  /// The regions whose memory is to be given back.
  std::vector<Region> leave(Session session);

  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] std::size_t size() const noexcept { return regions_.size(); }
  [[nodiscard]] Usage usage(Session session) const;

 private:
  struct Before {
    bool operator()(const RegionName& a, const RegionName& b) const noexcept;
  };
  struct Entry {
    RegionName name;
    std::uint64_t bytes = 0;
    Session owner = 0;
    bool owned = true;
    std::size_t attached = 0;
  };
  struct Client {
    Usage usage;
    std::map<Region, std::size_t> held;  ///< how often it is attached; 0 for one that it owns only
  };

  bool let_go(Region region, bool as_owner);

  Limits limits_;
  std::uint64_t used_ = 0;
  Region next_ = 1;
  std::unordered_map<Region, Entry> regions_;
  std::map<RegionName, Region, Before> names_;
  std::unordered_map<Session, Client> clients_;
};

}  // namespace weir

#include "remote/region_table.hpp"

#include <fmt/format.h>

#include <tuple>

#include "core/errors.hpp"
#include "core/units.hpp"

namespace weir {
namespace {

constexpr RegionTable::Session nobody = 0;

Status over_limit(std::uint64_t bytes, std::uint64_t used, std::uint64_t limit, std::string_view whose,
                  std::string_view remedy) {
  return problem(
      Code::no_memory,
      [&] {
        return fmt::format("cannot allocate {} of remote memory: {} of {} {} are in use", format_bytes(bytes),
                           format_bytes(used), format_bytes(limit), whose);
      },
      remedy);
}

}  // namespace

bool RegionTable::Before::operator()(const RegionName& a, const RegionName& b) const noexcept {
  return std::tie(a.key[0], a.key[1], a.serial, a.rank) < std::tie(b.key[0], b.key[1], b.serial, b.rank);
}

RegionTable::Usage RegionTable::usage(Session session) const {
  const auto found = clients_.find(session);
  return found == clients_.end() ? Usage{} : found->second.usage;
}

Result<RegionTable::Region> RegionTable::reserve(Session owner, const RegionName& name, std::uint64_t bytes) {
  if (bytes == 0) return problem(Code::invalid, "cannot allocate 0 bytes of remote memory");
  const std::uint64_t asked = bytes;
  if (asked <= limits_.total) bytes = (asked + limits_.page - 1) / limits_.page * limits_.page;
  if (bytes > limits_.total - used_)
    return over_limit(bytes, used_, limits_.total, "of the server", "start more servers, or one with a larger --size");
  const Usage usage = this->usage(owner);
  if (usage.bytes > limits_.per_client || bytes > limits_.per_client - usage.bytes)
    return over_limit(bytes, usage.bytes, limits_.per_client, "of this client",
                      "start the server with a larger --quota");
  if (usage.regions >= limits_.regions_per_client)
    return problem(
        Code::no_memory,
        [&] {
          return fmt::format("cannot allocate another region of remote memory: this client has {}", usage.regions);
        },
        "use fewer and larger ones");
  if (names_.contains(name))
    return problem(Code::exists, "cannot allocate remote memory: there is a region of this name");
  const Region region = next_++;
  regions_[region] = {name, bytes, owner, true, 0};
  names_[name] = region;
  Client& client = clients_[owner];
  client.held[region] = 0;
  ++client.usage.regions;
  client.usage.bytes += bytes;
  used_ += bytes;
  return region;
}

Result<RegionTable::Region> RegionTable::attach(Session session, const RegionName& name) {
  const auto found = names_.find(name);
  if (found == names_.end())
    return problem(Code::not_found, "cannot attach remote memory: there is no region of this name",
                   "it must be allocated before, and its owner still be connected");
  Client& client = clients_[session];
  if (client.usage.attached >= limits_.regions_per_client)
    return problem(Code::no_memory, [&] {
      return fmt::format("cannot attach another region of remote memory: this client has {}", client.usage.attached);
    });
  ++client.held[found->second];
  ++client.usage.attached;
  ++regions_[found->second].attached;
  return found->second;
}

/// Whether it was the last to let go of it.
bool RegionTable::let_go(Region region, bool as_owner) {
  const auto found = regions_.find(region);
  Entry& entry = found->second;
  if (as_owner) {
    entry.owned = false;
    names_.erase(entry.name);
  } else {
    --entry.attached;
  }
  if (entry.owned || entry.attached > 0) return false;
  used_ -= entry.bytes;
  if (const auto owner = clients_.find(entry.owner); owner != clients_.end()) {
    --owner->second.usage.regions;
    owner->second.usage.bytes -= entry.bytes;
  }
  regions_.erase(found);
  return true;
}

Result<bool> RegionTable::release(Session session, Region region) {
  const auto client = clients_.find(session);
  const auto refused = [] { return problem(Code::not_found, "cannot release remote memory: it is not this client's"); };
  if (client == clients_.end()) return refused();
  const auto held = client->second.held.find(region);
  if (held == client->second.held.end()) return refused();
  if (held->second > 0) {  // attachments go first
    --client->second.usage.attached;
    const Entry& entry = regions_[region];
    if (--held->second == 0 && !(entry.owned && entry.owner == session)) client->second.held.erase(held);
    return let_go(region, false);
  }
  client->second.held.erase(held);
  return let_go(region, true);
}

std::vector<RegionTable::Region> RegionTable::leave(Session session) {
  std::vector<Region> free;
  const auto found = clients_.find(session);
  if (found == clients_.end()) return free;
  const auto held = std::move(found->second.held);
  clients_.erase(found);
  for (const auto& [region, attached] : held) {
    const Entry& entry = regions_[region];
    const bool owns = entry.owned && entry.owner == session;
    bool last = false;
    for (std::size_t i = 0; i < attached; ++i) last = let_go(region, false);
    if (owns) last = let_go(region, true);
    if (last) free.push_back(region);
  }
  for (auto& [region, entry] : regions_)
    if (entry.owner == session) entry.owner = nobody;
  return free;
}

}  // namespace weir

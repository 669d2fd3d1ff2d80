#include "remote/remote_memory.hpp"

#include <fmt/format.h>

#include <atomic>
#include <vector>

#include "core/errors.hpp"
#include "remote/mapped_region.hpp"
#include "remote/server_link.hpp"

namespace weir {
namespace {

/// A region is on one server, all of it: the one that its name says, or the next that has room.
class RemoteServers final : public RemoteMemory {
 public:
  explicit RemoteServers(std::vector<std::shared_ptr<ServerLink>> links) : links_{std::move(links)} {}

  Result<std::unique_ptr<RemoteRegion>> allocate(const RegionName& name, std::uint64_t bytes) override {
    return first_that(Code::no_memory, name, [&](const std::shared_ptr<ServerLink>& link) {
      return open(link, MemoryMessage::allocate, encode_plain(AllocateRequest{name, bytes, link->access}));
    });
  }
  Result<std::unique_ptr<RemoteRegion>> attach(const RegionName& name) override {
    return first_that(Code::not_found, name, [&](const std::shared_ptr<ServerLink>& link) {
      return open(link, MemoryMessage::attach, encode_plain(AttachRequest{name, link->access}));
    });
  }

  std::size_t progress() noexcept override { return 0; }
  Status flush() noexcept override {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return failure();
  }
  Status failure() noexcept override {
    return attempt("look after the memory servers", [&]() -> Status {
      for (const auto& link : links_)
        if (Status status = link->connection->look(); !status) return status;
      return {};
    });
  }

 private:
  using Opened = Result<std::unique_ptr<RemoteRegion>>;

  /// Asks servers in the order that the name gives, while they answer that the next may do better.
  template <class Ask>
  Opened first_that(Code try_next, const RegionName& name, Ask&& ask) {
    const std::size_t first = (name.serial + name.rank) % links_.size();
    Opened opened{Status{}};
    for (std::size_t i = 0; i < links_.size(); ++i) {
      opened = ask(links_[(first + i) % links_.size()]);
      if (opened || opened.status().code() != try_next) break;
    }
    return opened;
  }

  static Opened open(const std::shared_ptr<ServerLink>& link, std::uint16_t type, std::span<const std::byte> request) {
    auto answer = link->ask_region(type, request);
    if (!answer) return answer.status();
    return map_region(link, *answer, link->connection->take_descriptor());
  }

  std::vector<std::shared_ptr<ServerLink>> links_;
};

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

Result<std::shared_ptr<ServerLink>> connect_server(const std::string& file, const RemoteOptions& options,
                                                   std::uint64_t wanted) {
  auto contact = read_contact(file);
  if (!contact) return contact.status();
  auto connection = Connection::open(*contact, {wanted, "client", options.secret, options.timeout_s});
  if (!connection) return connection.status();
  const std::uint64_t common = (*connection)->agreement().features;
  auto link = std::make_shared<ServerLink>();
  link->connection = *std::move(connection);
  link->connection->set_heartbeat(MemoryMessage::beat, std::as_bytes(std::span{&link->moved, 1}));
  link->access = common & MemoryFeature::mapped ? MemoryFeature::mapped : common & MemoryFeature::ucx;
  if (link->access == 0)
    return problem(Code::unsupported, [&] {
      return fmt::format("cannot use the memory server at {} with the transport '{}'", link->connection->server(),
                         options.transport);
    }, "mapped needs a server on this node that listens at unix:PATH; ucx needs UCX on both sides");
  return link;
}

}  // namespace

Result<std::unique_ptr<RemoteMemory>> connect_remote_memory(const RemoteOptions& options) {
  std::uint64_t wanted = 0;
  if (options.transport == "auto" || options.transport == "mapped") wanted |= MemoryFeature::mapped;
  if (options.transport == "auto" || options.transport == "ucx") wanted |= MemoryFeature::ucx;
  if (wanted == 0)
    return problem(Code::settings, fmt::format("unknown transport '{}' to memory servers", options.transport),
                   "allowed: auto, mapped, ucx");
  std::vector<std::shared_ptr<ServerLink>> links;
  for (const std::string& file : split_at_commas(options.contact)) {
    auto link = connect_server(file, options, wanted);
    if (!link) return link.status();
    links.push_back(*std::move(link));
  }
  if (links.empty())
    return problem(Code::settings, "cannot reach remote memory: no contact file of a server is named",
                   "start one: weir memory serve --size 4GiB --contact FILE");
  return std::unique_ptr<RemoteMemory>{std::make_unique<RemoteServers>(std::move(links))};
}

}  // namespace weir

#include "remote/remote_memory.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/errors.hpp"
#include "net/deadline.hpp"
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

  std::size_t progress() noexcept override {
    const auto pending = [&] {
      std::size_t sum = 0;
      for (const auto& link : links_) sum += link->ucx ? link->ucx->pending() : 0;
      return sum;
    };
    if (pending() == 0) return 0;
    for (const auto& link : links_)
      if (link->ucx) link->ucx->progress();
    // Who only calls this must not wait for a server that is gone.
    if (next_look_.is_over() && !failure()) return 0;
    return pending();
  }
  Status flush() noexcept override {
    return for_each([](ServerLink& link) { return link.settle(); });
  }
  Status failure() noexcept override {
    next_look_ = Deadline::in(look_s);
    return for_each([](ServerLink& link) { return link.failure(); });
  }

 private:
  static constexpr double look_s = 0.01;

  /// The first that goes wrong; then all are given up.
  template <class Work>
  Status for_each(Work&& work) noexcept {
    Status first;
    for (const auto& link : links_)
      if (Status status = work(*link); !status && first) first = std::move(status);
    if (!first)
      for (const auto& link : links_)
        if (link->ucx) link->ucx->give_up();
    return first;
  }

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
    if (!link->ucx) return map_region(link, *answer, link->connection->take_descriptor());
    auto region = link->ucx->open(link, *answer);
    if (!region) link->release(answer->region);
    return region;
  }

  std::vector<std::shared_ptr<ServerLink>> links_;
  Deadline next_look_ = Deadline::in(0);
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

Result<std::shared_ptr<ServerLink>> connect_server(const std::string& file, const RemoteOptions& options) {
  auto contact = read_contact(file);
  if (!contact) return contact.status();
  const bool mapped = options.transport == "mapped" || (options.transport == "auto" && contact->endpoint.local);
  auto link = std::make_shared<ServerLink>();
  link->access = mapped ? MemoryFeature::mapped : MemoryFeature::ucx;
  link->timeout_s = options.timeout_s;
  if (!mapped) {
    auto ucx = UcxClient::make();
    if (!ucx) return ucx.status();
    link->ucx = *std::move(ucx);
  }
  auto connection = Connection::open(*contact, {link->access, "client", options.secret, options.timeout_s});
  if (!connection) return connection.status();
  link->connection = *std::move(connection);
  if (link->connection->agreement().features != link->access)
    return problem(
        Code::unsupported,
        [&] {
          return fmt::format("cannot use the memory server at {} by the transport '{}'", link->connection->server(),
                             mapped ? "mapped" : "ucx");
        },
        mapped ? "mapped memory needs a server on this node that listens at unix:PATH" : "it was built without UCX");
  link->connection->set_heartbeat(MemoryMessage::beat, std::as_bytes(std::span{&link->moved, 1}));
  return link;
}

}  // namespace

Result<std::unique_ptr<RemoteMemory>> connect_remote_memory(const RemoteOptions& options) {
  if (options.transport != "auto" && options.transport != "mapped" && options.transport != "ucx")
    return problem(Code::settings, fmt::format("unknown transport '{}' to memory servers", options.transport),
                   "allowed: auto, mapped, ucx");
  std::vector<std::shared_ptr<ServerLink>> links;
  for (const std::string& file : split_at_commas(options.contact)) {
    auto link = connect_server(file, options);
    if (!link) return link.status();
    links.push_back(*std::move(link));
  }
  if (links.empty())
    return problem(Code::settings, "cannot reach remote memory: no contact file of a server is named",
                   "start one: weir memory serve --size 4GiB --contact FILE");
  return std::unique_ptr<RemoteMemory>{std::make_unique<RemoteServers>(std::move(links))};
}

}  // namespace weir

#include "remote/remote_memory.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/errors.hpp"
#include "net/deadline.hpp"
#include "remote/mapped_region.hpp"
#include "remote/server_link.hpp"
#include "remote/socket_client.hpp"
#include "remote/striped_region.hpp"
#include "remote/ucx_client.hpp"

namespace weir {
namespace {

using Opened = Result<std::unique_ptr<RemoteRegion>>;

struct OpenedPart {
  std::unique_ptr<RemoteRegion> region;
  RegionPart part;
};

class RemoteServers final : public RemoteMemory {
 public:
  RemoteServers(std::vector<std::shared_ptr<ServerLink>> links, std::uint64_t stripe)
      : links_{std::move(links)}, stripe_{stripe} {}

  Opened allocate(const RegionName& name, std::uint64_t bytes) override {
    std::vector<std::shared_ptr<ServerLink>> with_room = in_turn(name);
    while (true) {
      std::size_t full = 0;
      Opened opened = allocate_on(with_room, name, bytes, full);
      if (opened || opened.status().code() != Code::no_memory || with_room.size() == 1) return opened;
      with_room.erase(with_room.begin() + static_cast<std::ptrdiff_t>(full));
    }
  }

  Opened attach(const RegionName& name) override {
    std::vector<OpenedPart> found;
    Status last;
    for (const auto& link : in_turn(name)) {
      auto part = open(link, MemoryMessage::attach, encode_plain(AttachRequest{name, link->access}));
      if (part) found.push_back(*std::move(part));
      else if (last = part.status(); last.code() != Code::not_found) return last;
      if (!found.empty() && found.size() == found.front().part.parts) return joined(std::move(found));
    }
    if (found.empty()) return last;
    return problem(Code::not_found, [&] {
      return fmt::format("cannot reach a region in remote memory: only {} of its {} parts are there", found.size(),
                         found.front().part.parts);
    }, "name the same memory servers in remote.contact on all ranks");
  }

  std::size_t progress() noexcept override {
    if (under_way() == 0) return 0;
    for (const auto& link : links_)
      if (link->data) link->data->progress();
    // Who only calls this must not wait for a server that is gone.
    if (next_look_.is_over() && !failure()) return 0;
    return under_way();
  }
  [[nodiscard]] std::size_t under_way() const noexcept override {
    std::size_t sum = 0;
    for (const auto& link : links_) sum += link->data ? link->data->pending() : 0;
    return sum;
  }
  void doze() noexcept override {
    constexpr int most_ms = 1;
    constexpr std::size_t most = 16;
    std::array<pollfd, most> wanted{};
    std::size_t count = 0;
    for (const auto& link : links_) {
      if (!link->data || link->data->pending() == 0 || count == most) continue;
      wanted[count] = link->data->news();
      if (wanted[count++].fd < 0) return;
    }
    if (count > 0) ::poll(wanted.data(), count, most_ms);
  }
  [[nodiscard]] bool is_mapped() const noexcept override {
    return std::ranges::none_of(links_, [](const auto& link) { return link->data != nullptr; });
  }
  [[nodiscard]] std::uint64_t long_piece() const noexcept override {
    return links_.front()->data ? links_.front()->data->long_piece() : 0;
  }
  Status flush() noexcept override {
    return for_each([](ServerLink& link) { return link.settle(); });
  }
  Status failure() noexcept override {
    next_look_ = Deadline::in(look_s);
    return for_each([](ServerLink& link) { return link.failure(); });
  }
  Result<std::uint64_t> capacity() override {
    std::uint64_t sum = 0;
    for (const auto& link : links_) {
      auto frame = link->connection->ask(MemoryMessage::status, {});
      if (!frame) return frame.status();
      const auto report = MemoryReport::decode(frame->payload);
      if (!report) return problem(Code::corrupt, "cannot understand the answer of a memory server");
      sum += std::min(report->size, report->quota);
    }
    return sum;
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
        if (link->data) link->data->give_up();
    return first;
  }

  /// All servers, the one that the name gives first.
  std::vector<std::shared_ptr<ServerLink>> in_turn(const RegionName& name) const {
    auto links = links_;
    std::ranges::rotate(links, links.begin() + static_cast<std::ptrdiff_t>((name.serial + name.rank) % links.size()));
    return links;
  }

  /// On as many of these servers as there are stripes for, or nowhere; `full` is the one that had no room.
  Opened allocate_on(std::span<const std::shared_ptr<ServerLink>> links, const RegionName& name, std::uint64_t bytes,
                     std::size_t& full) {
    const std::uint64_t stripes = bytes / stripe_ + (bytes % stripe_ != 0);
    RegionPart shape{bytes, stripe_, 0, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(stripes, 1, links.size()))};
    std::vector<OpenedPart> parts;
    for (; shape.part < shape.parts; ++shape.part) {
      const auto& link = links[full = shape.part];
      auto part = open(link, MemoryMessage::allocate,
                       encode_plain(AllocateRequest{name, bytes_of_part(shape), link->access, shape}));
      if (!part) return part.status();
      parts.push_back(*std::move(part));
    }
    return joined(std::move(parts));
  }

  static Opened joined(std::vector<OpenedPart> parts) {
    std::ranges::sort(parts, {}, [](const OpenedPart& each) { return each.part.part; });
    std::vector<std::unique_ptr<RemoteRegion>> regions;
    for (std::uint32_t p = 0; p < parts.size(); ++p) {
      RegionPart expected = parts.front().part;
      expected.part = p;
      if (parts[p].part != expected || (p > 0 && expected.stripe == 0) || parts[p].region->size() != bytes_of_part(expected))
        return problem(Code::corrupt, "cannot use a region in remote memory: its parts do not fit together");
      regions.push_back(std::move(parts[p].region));
    }
    if (regions.size() == 1) return std::move(regions.front());
    return make_striped_region(std::move(regions), parts.front().part);
  }

  static Result<OpenedPart> open(const std::shared_ptr<ServerLink>& link, std::uint16_t type,
                                 std::span<const std::byte> request) {
    auto answer = link->ask_region(type, request);
    if (!answer) return answer.status();
    Opened region{Status{}};
    if (!link->data) {
      region = map_region(link, *answer, link->connection->take_descriptor());
    } else {
      region = link->data->open(link, *answer);
      if (!region) link->release(answer->region);
    }
    if (!region) return region.status();
    return OpenedPart{*std::move(region), answer->part};
  }

  std::vector<std::shared_ptr<ServerLink>> links_;
  std::uint64_t stripe_;
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

/// Whether this node has a network on which puts and gets of UCX are the hardware's, or the user says what UCX shall use.
bool has_use_for_ucx() {
  std::error_code ignored;
  const std::filesystem::directory_iterator devices{"/sys/class/infiniband", ignored};
  return std::getenv("UCX_TLS") || (!ignored && devices != std::filesystem::directory_iterator{});
}

/// What to try, the best first.
std::vector<std::string> transports_to(const Contact& contact, const std::string& wanted) {
  if (wanted != "auto") return {wanted};
  if (contact.endpoint.local) return {"mapped"};
  if (has_use_for_ucx()) return {"ucx", "socket"};
  return {"socket"};
}

Result<std::shared_ptr<ServerLink>> connect_server(const Contact& contact, const std::string& transport,
                                                   const RemoteOptions& options) {
  auto link = std::make_shared<ServerLink>();
  link->timeout_s = options.timeout_s;
  link->access = MemoryFeature::mapped;
  if (transport == "socket") {
    link->access = MemoryFeature::socket;
    link->data = make_socket_client(contact, options);
  } else if (transport == "ucx") {
    link->access = MemoryFeature::ucx;
    auto ucx = make_ucx_client();
    if (!ucx) return ucx.status();
    link->data = *std::move(ucx);
  }
  auto connection = Connection::open(contact, {link->access, "client", options.secret, options.timeout_s});
  if (!connection) return connection.status();
  link->connection = *std::move(connection);
  if (link->connection->agreement().features != link->access)
    return problem(
        Code::unsupported,
        [&] {
          return fmt::format("cannot use the memory server at {} by the transport '{}'", link->connection->server(),
                             transport);
        },
        transport == "mapped" ? "mapped memory needs a server on this node that listens at unix:PATH"
                              : fmt::format("it was built without '{}'", transport));
  link->connection->set_heartbeat(MemoryMessage::beat, std::as_bytes(std::span{&link->moved, 1}));
  return link;
}

Result<std::shared_ptr<ServerLink>> connect_server(const std::string& file, const RemoteOptions& options) {
  auto contact = read_contact(file);
  if (!contact) return contact.status();
  Result<std::shared_ptr<ServerLink>> link{Status{}};
  for (const std::string& transport : transports_to(*contact, options.transport)) {
    link = connect_server(*contact, transport, options);
    if (link || link.status().code() != Code::unsupported) break;
  }
  return link;
}

}  // namespace

RemoteOptions RemoteOptions::of(const ResolvedSettings& settings) {
  RemoteOptions options;
  options.contact = settings.text("remote.contact");
  options.secret = settings.text("remote.secret");
  options.transport = settings.text("remote.transport");
  options.timeout_s = static_cast<double>(settings.number("remote.timeout"));
  options.stripe = settings.number("remote.stripe");
  return options;
}

Result<std::unique_ptr<RemoteMemory>> connect_remote_memory(const RemoteOptions& options) {
  if (options.transport != "auto" && options.transport != "mapped" && options.transport != "ucx" &&
      options.transport != "socket")
    return problem(Code::settings, fmt::format("unknown transport '{}' to memory servers", options.transport),
                   "allowed: auto, mapped, ucx, socket");
  std::vector<std::shared_ptr<ServerLink>> links;
  for (const std::string& file : split_at_commas(options.contact)) {
    auto link = connect_server(file, options);
    if (!link) return link.status();
    links.push_back(*std::move(link));
  }
  if (links.empty())
    return problem(Code::settings, "cannot reach remote memory: no contact file of a server is named",
                   "start one: weir memory serve --size 4GiB --contact FILE");
  return std::unique_ptr<RemoteMemory>{std::make_unique<RemoteServers>(std::move(links), options.stripe)};
}

}  // namespace weir

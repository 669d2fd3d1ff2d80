#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <random>
#include <thread>

#include "remote/data_sum.hpp"
#include "remote/raw_client.hpp"
#include "remote/server_process.hpp"
#include "remote/transfer_heading.hpp"

using namespace weir;
using namespace weir::testing;

namespace {

TransferHeading heading(TransferVerb verb, std::uint64_t region, std::uint64_t offset, std::uint64_t bytes) {
  TransferHeading made;
  made.verb = verb;
  made.region = region;
  made.offset = offset;
  made.bytes = bytes;
  made.seal();
  return made;
}

std::span<const std::byte> bytes_of(const TransferHeading& heading) { return std::as_bytes(std::span{&heading, 1}); }

std::vector<std::byte> put_of(std::uint64_t region, std::uint64_t offset, std::span<const std::byte> data) {
  TransferHeading made = heading(TransferVerb::put, region, offset, data.size());
  made.data_sum = DataSum::of(data);
  made.seal();
  std::vector<std::byte> all{bytes_of(made).begin(), bytes_of(made).end()};
  all.insert(all.end(), data.begin(), data.end());
  return all;
}

/// What a get is answered by.
std::vector<std::byte> with_sum(std::span<const std::byte> data) {
  const std::uint64_t sum = DataSum::of(data);
  const auto first = std::as_bytes(std::span{&sum, 1});
  std::vector<std::byte> all{first.begin(), first.end()};
  all.insert(all.end(), data.begin(), data.end());
  return all;
}

/// A client that says anything over its socket for data.
class RawData {
 public:
  explicit RawData(const ServerProcess& server, std::uint64_t bytes = mib, std::uint64_t serial = 1)
      : control_{Connection::open(server.contact_value(), {MemoryFeature::socket, "client", "", 5}).value()} {
    auto frame = control_->ask(MemoryMessage::allocate,
                               encode_plain(AllocateRequest{named(serial), bytes, MemoryFeature::socket}));
    answer_ = RegionAnswer::decode(frame.value().payload).value();
    std::memcpy(ticket_.data(), answer_.key.data(), ticket_.size());
    socket_ = join(server, ticket_).value();
  }
  static Result<Descriptor> join(const ServerProcess& server, const Ticket& ticket, const char* role = "data") {
    auto connection = Connection::open(server.contact_value(), {MemoryFeature::socket, role, "", 5}).value();
    auto done = connection->ask(MemoryMessage::join, ticket);
    if (!done) return done.status();
    return connection->take_socket();
  }

  [[nodiscard]] std::uint64_t region() const { return answer_.region; }
  [[nodiscard]] const Ticket& ticket() const { return ticket_; }
  [[nodiscard]] Connection& control() { return *control_; }
  void send(std::span<const std::byte> data) const {
    while (!data.empty()) {
      const ssize_t sent = send_some(socket_.get(), data);
      if (sent < 0 && errno != EAGAIN) return;
      if (sent < 0 && !wait_for(socket_.get(), POLLOUT, Deadline::in(5))) return;
      if (sent > 0) data = data.subspan(static_cast<std::size_t>(sent));
    }
  }
  /// As many as are wanted, or those before the server hung up or said nothing for so long.
  [[nodiscard]] std::vector<std::byte> receive(std::size_t wanted, double seconds = 5) const {
    std::vector<std::byte> got(wanted);
    std::size_t at = 0;
    while (at < wanted && wait_for(socket_.get(), POLLIN, Deadline::in(seconds))) {
      const ssize_t more = receive_some(socket_.get(), std::span{got}.subspan(at));
      if (more <= 0) break;
      at += static_cast<std::size_t>(more);
    }
    got.resize(at);
    return got;
  }
  [[nodiscard]] bool is_closed() const {
    pollfd state{socket_.get(), POLLIN, 0};
    std::byte byte;
    return ::poll(&state, 1, 5000) > 0 && ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT) <= 0;
  }

 private:
  std::unique_ptr<Connection> control_;
  RegionAnswer answer_;
  Ticket ticket_{};
  Descriptor socket_;
};

std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random{seed};
  std::vector<std::byte> data(bytes);
  for (std::byte& each : data) each = static_cast<std::byte>(random());
  return data;
}

/// A client that is served as before, whatever others do.
class Witness {
 public:
  explicit Witness(const ServerProcess& server)
      : memory_{server.connect(5, "socket")},
        region_{memory_->allocate(named(77), mib).value()},
        data_{noise(mib, 7)} {}
  void is_served() {
    std::vector<std::byte> got(data_.size());
    ASSERT_TRUE(region_->put(0, data_.data(), data_.size()).ok() && memory_->flush().ok());
    ASSERT_TRUE(region_->get(0, got.data(), got.size()).ok() && memory_->flush().ok());
    EXPECT_TRUE(got == data_);
  }

 private:
  std::unique_ptr<RemoteMemory> memory_;
  std::unique_ptr<RemoteRegion> region_;
  std::vector<std::byte> data_;
};

/// Between a server and its clients: it turns a bit of whatever is far into a connection, which is data.
class DamagingProxy {
 public:
  DamagingProxy(const ServerProcess& server, bool to_server) : contact_{server.directory() / "proxy.contact"} {
    Contact contact = server.contact_value();
    const Endpoint real = contact.endpoint;
    contact.endpoint = Endpoint::parse("unix:" + server.directory() / "proxy").value();
    listening_ = listen_at(contact.endpoint).value();
    file_.emplace(ContactFile::make(contact_, contact).value());
    process_.emplace([&] { return serve(real, to_server); });
  }
  [[nodiscard]] const std::string& contact() const { return contact_; }

 private:
  static constexpr std::size_t far = 100'000;

  int serve(const Endpoint& real, bool to_server) const {
    std::vector<std::thread> threads;
    while (wait_for(listening_.get(), POLLIN, Deadline::in(60))) {
      const int client = ::accept(listening_.get(), nullptr, nullptr);
      const int server = connect_to(real, Deadline::in(5)).value().release();
      threads.emplace_back(relay, client, server, to_server);
      threads.emplace_back(relay, server, client, !to_server);
    }
    return 0;
  }
  static void relay(int from, int to, bool damages) {
    std::array<std::byte, 4096> part;
    std::size_t before = 0;
    while (wait_for(from, POLLIN, Deadline::in(60))) {
      const ssize_t got = ::recv(from, part.data(), part.size(), 0);
      if (got <= 0) break;
      const auto bytes = static_cast<std::size_t>(got);
      if (damages && before < far && before + bytes >= far) part[0] ^= std::byte{1};
      before += bytes;
      for (std::span<const std::byte> left{part.data(), bytes}; !left.empty();) {
        const ssize_t sent = send_some(to, left);
        if (sent < 0 && !(errno == EAGAIN && wait_for(to, POLLOUT, Deadline::in(60)))) break;
        if (sent > 0) left = left.subspan(static_cast<std::size_t>(sent));
      }
    }
    ::shutdown(to, SHUT_RDWR);
  }

  std::string contact_;
  Descriptor listening_;
  std::optional<ContactFile> file_;
  std::optional<Child> process_;
};

}  // namespace

TEST(DataSocket, requests_are_answered_in_their_order) {
  ServerProcess server{{.size = 8 * mib}};
  RawData client{server};
  const auto data = noise(1000, 1);
  client.send(put_of(client.region(), 5, data));
  client.send(bytes_of(heading(TransferVerb::settle, 0, 0, 42)));
  client.send(bytes_of(heading(TransferVerb::get, client.region(), 5, data.size())));
  std::vector<std::byte> expected(8);
  expected[0] = std::byte{42};
  const auto answer = with_sum(data);
  expected.insert(expected.end(), answer.begin(), answer.end());
  EXPECT_TRUE(client.receive(expected.size()) == expected);
}

TEST(DataSocket, requests_may_arrive_in_parts_of_any_size) {
  ServerProcess server{{.size = 8 * mib}};
  RawData client{server};
  const auto data = noise(300, 2);
  std::vector<std::byte> all;
  const auto add = [&](std::span<const std::byte> more) { all.insert(all.end(), more.begin(), more.end()); };
  add(put_of(client.region(), 0, data));
  add(bytes_of(heading(TransferVerb::get, client.region(), 0, data.size())));
  for (std::size_t part = 1; part < all.size(); part += 7) {
    for (std::size_t at = 0; at < all.size(); at += part)
      client.send(std::span{all}.subspan(at, std::min(part, all.size() - at)));
    ASSERT_TRUE(client.receive(8 + data.size()) == with_sum(data)) << part;
  }
}

TEST(DataSocket, whoever_asks_for_what_it_has_not_is_hung_up_on) {
  ServerProcess server{{.size = 64 * mib}};
  Witness witness{server};
  RawData other{server, mib, 2};
  using Verb = TransferVerb;
  for (const Verb verb : {Verb::put, Verb::get}) {
    std::uint64_t serial = 10;
    for (const auto& [offset, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {0, mib + 1}, {mib, 1}, {1, mib}, {~0ULL, 2}, {2, ~0ULL}, {~0ULL, ~0ULL}, {0, 0}}) {
      RawData client{server, mib, ++serial};
      client.send(bytes_of(heading(verb, client.region(), offset, bytes)));
      EXPECT_TRUE(client.is_closed()) << offset << " " << bytes;
    }
    RawData thief{server, mib, 5};
    thief.send(bytes_of(heading(verb, other.region(), 0, 100)));
    EXPECT_TRUE(thief.is_closed());
  }
  RawData unknown{server, mib, 6};
  unknown.send(bytes_of(heading(static_cast<Verb>(9), unknown.region(), 0, 1)));
  EXPECT_TRUE(unknown.is_closed());
  for (std::size_t byte = 0; byte < sizeof(TransferHeading); ++byte) {
    RawData damaged{server, mib, 7};
    auto wrong = heading(Verb::put, damaged.region(), 0, 1);
    reinterpret_cast<std::byte*>(&wrong)[byte] ^= std::byte{4};
    damaged.send(bytes_of(wrong));
    EXPECT_TRUE(damaged.is_closed()) << byte;
  }
  RawData garbage{server, mib, 8};
  garbage.send(noise(100'000, 3));
  EXPECT_TRUE(garbage.is_closed());
  witness.is_served();
  other.send(bytes_of(heading(Verb::get, other.region(), 0, mib)));
  EXPECT_TRUE(other.receive(8 + mib) == with_sum(std::vector<std::byte>(mib)));  // nobody has written there
}

TEST(DataSocket, data_that_was_damaged_on_its_way_ends_that_client_only) {
  ServerProcess server{{.size = 64 * mib}};
  Witness witness{server};
  for (const std::size_t bytes : {1UL, 1000UL, 100'000UL})
    for (const std::size_t place : {0UL, bytes / 2, bytes - 1}) {
      RawData client{server, mib, 9};
      auto sent = put_of(client.region(), 0, noise(bytes, 4));
      sent[sizeof(TransferHeading) + place] ^= std::byte{16};
      client.send(sent);
      EXPECT_TRUE(client.is_closed()) << bytes << " " << place;
    }
  witness.is_served();
  for (const bool to_server : {true, false}) {
    const DamagingProxy proxy{server, to_server};
    RemoteOptions options;
    options.contact = proxy.contact();
    options.transport = "socket";
    auto memory = connect_remote_memory(options).value();
    auto region = memory->allocate(named(3), mib).value();
    const auto data = noise(mib, 5);
    std::vector<std::byte> got(mib);
    (void)region->put(0, data.data(), mib).ok();
    EXPECT_EQ(memory->flush().code(), to_server ? Code::io : Code::ok);
    (void)region->get(0, got.data(), mib).ok();
    const Status status = memory->flush();
    EXPECT_EQ(status.code(), Code::io);
    if (!to_server) {
      EXPECT_NE(status.message().find("damaged on its way"), std::string::npos) << status.message();
    }
  }
  witness.is_served();
}

TEST(DataSocket, only_who_was_told_may_join_and_once) {
  ServerProcess server{{.size = 8 * mib}};
  Ticket guessed{};
  EXPECT_EQ(RawData::join(server, guessed).status().code(), Code::access);  // before anybody is served that way
  RawData client{server};
  EXPECT_EQ(RawData::join(server, guessed).status().code(), Code::access);
  EXPECT_EQ(RawData::join(server, client.ticket()).status().code(), Code::access);
  EXPECT_FALSE(RawData::join(server, client.ticket(), "client").ok());
  client.send(bytes_of(heading(TransferVerb::settle, 0, 0, 1)));
  EXPECT_EQ(client.receive(8).size(), 8U);
  client.send(bytes_of(heading(static_cast<TransferVerb>(9), 0, 0, 1)));
  ASSERT_TRUE(client.is_closed());
  EXPECT_EQ(RawData::join(server, client.ticket()).status().code(), Code::access);
}

TEST(DataSocket, who_sends_half_or_takes_nothing_delays_nobody_and_leaves_nothing) {
  ServerProcess server{{.size = 64 * mib}};
  Witness witness{server};
  ASSERT_TRUE(soon([&] { return server.report().clients.size() == 1; }));
  const std::size_t base = server.quiet_descriptors();
  {
    std::vector<RawData> slow;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const RawData& client = slow.emplace_back(server, mib, 100 + i);
      if (i % 2 == 0) {
        client.send(bytes_of(heading(TransferVerb::put, client.region(), 0, mib)));
        client.send(noise(i * 1000, 1));
      } else {  // more than any buffer holds
        for (int k = 0; k < 200; ++k) client.send(bytes_of(heading(TransferVerb::get, client.region(), 0, mib)));
      }
    }
    const auto begin = Deadline::Clock::now();
    witness.is_served();
    EXPECT_LT(std::chrono::duration<double>(Deadline::Clock::now() - begin).count(), 2);
    const double before = processor_seconds(server.process().pid());
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    EXPECT_LT(processor_seconds(server.process().pid()) - before, 0.1);  // and it does not spin
  }
  EXPECT_TRUE(soon([&] { return server.report().used == mib; }));
  EXPECT_TRUE(soon([&] { return server.descriptors() == base; })) << server.descriptors() << " not " << base;
  witness.is_served();
}

TEST(DataSocket, memory_that_is_freed_under_a_transfer_ends_that_client_only) {
  ServerProcess server{{.size = 8 * mib}};
  Witness witness{server};
  RawData client{server};
  client.send(bytes_of(heading(TransferVerb::put, client.region(), 0, mib)));
  client.send(noise(1000, 1));
  client.send(bytes_of(heading(TransferVerb::get, client.region(), 0, mib)));  // is data of the put
  ASSERT_TRUE(client.control().ask(MemoryMessage::release, encode_plain(ReleaseRequest{client.region()})).ok());
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server.report().used, mib);
  witness.is_served();
}

TEST(DataSocket, sockets_for_data_count_for_no_client) {
  ServerLimits limits;
  limits.per_user = 3;
  ServerProcess server{{.size = 8 * mib, .limits = limits}};
  std::vector<std::unique_ptr<RemoteMemory>> clients;
  std::vector<std::unique_ptr<RemoteRegion>> regions;
  for (std::uint64_t i = 0; i < 3; ++i) {
    clients.push_back(server.connect(5, "socket"));
    ASSERT_TRUE(clients.back());
  }
  for (std::uint64_t i = 0; i < 3; ++i) regions.push_back(clients[i]->allocate(named(i), mib).value());
  const auto fourth = Connection::open(server.contact_value(), {MemoryFeature::socket, "client", "", 5});
  EXPECT_EQ(fourth.status().code(), Code::too_many_files);
}

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <vector>

#include "net/private_file.hpp"
#include "net/secret.hpp"
#include "remote/raw_client.hpp"
#include "remote/server_process.hpp"

using namespace weir;
using namespace weir::testing;

namespace {

/// The longest of some requests by a client that behaves.
double slowest_request_s(RemoteMemory& memory, std::uint64_t serial) {
  double slowest = 0;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto begin = Deadline::Clock::now();
    EXPECT_TRUE(memory.allocate(named(serial, i), 4096).ok());
    slowest = std::max(slowest, std::chrono::duration<double>(Deadline::Clock::now() - begin).count());
  }
  return slowest;
}

Status open_with(const Contact& contact, const std::string& secret) {
  return Connection::open(contact, {1, "client", secret, 5}).status();
}

constexpr double fine_s = 1;  // on a machine that does other work

}  // namespace

TEST(ServerFault, wrong_secrets_are_refused_over_tcp) {
  ScratchDirectory directory;
  const std::string right = directory / "right", wrong = directory / "wrong";
  ASSERT_TRUE(make_secret(right).ok() && make_secret(wrong).ok());
  ServerProcess server{{.size = mib, .listen = "tcp:127.0.0.1:0", .secret = right}};
  const Contact contact = server.contact_value();
  EXPECT_TRUE(open_with(contact, right).ok());
  EXPECT_EQ(open_with(contact, wrong).code(), Code::access);
  EXPECT_EQ(open_with(contact, "").code(), Code::access);
  EXPECT_TRUE(open_with(contact, right).ok());
}

TEST(ServerFault, a_network_address_without_a_secret_is_refused) {
  for (const char* address : {"tcp:127.0.0.1:0", "tcp:0.0.0.0:0", "tcp:[::]:0"}) {
    const Status status = MemoryServer::make({.size = mib, .listen = address}).status();
    EXPECT_EQ(status.code(), Code::access) << address;
    EXPECT_NE(status.message().find("--secret"), std::string::npos);
  }
}

TEST(ServerFault, a_stale_contact_is_refused) {
  ServerProcess server{{.size = mib}};
  Contact contact = server.contact_value();
  contact.nonce[0] ^= std::byte{1};
  const Status status = open_with(contact, "");
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_NE(status.message().find("stale"), std::string::npos) << status.message();
  contact = server.contact_value();
  server.process().end(SIGKILL);
  EXPECT_FALSE(open_with(contact, "").ok());
}

TEST(ServerFault, another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ServerProcess server{{.size = mib}};
  const Contact contact = server.contact_value();
  ASSERT_EQ(::chmod(server.directory().path().c_str(), 0755), 0);
  Child outside{[&] { return ::setuid(65534) == 0 ? static_cast<int>(open_with(contact, "").code()) : 99; }};
  EXPECT_EQ(outside.wait(), static_cast<int>(Code::access));  // the socket's mode
  ASSERT_EQ(::chmod(contact.endpoint.place.c_str(), 0666), 0);
  Child inside{[&] {
    if (::setuid(65534) != 0) return 99;
    RawClient client{contact};
    const auto frame = client.receive();
    return frame && frame->type == FrameType::refused ? static_cast<int>(refusal_of(*frame).code()) : 98;
  }};
  EXPECT_EQ(inside.wait(), static_cast<int>(Code::access));  // the server
}

TEST(ServerFault, garbage_is_hung_up_on_at_once) {
  ServerProcess server{{.size = mib}};
  const Contact contact = server.contact_value();
  auto memory = server.connect();
  ASSERT_TRUE(memory);
  for (const std::string_view text : {std::string_view{"GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
                                      std::string_view{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11},
                                      std::string_view{"\0\0\0\0\0\0\0\0", 8}, std::string_view{"SSH-2.0-OpenSSH"}}) {
    RawClient client{contact};
    ASSERT_TRUE(client.send(text));
    EXPECT_TRUE(client.is_closed(2));
  }
  auto oversized = encode_frame(FrameType::hello, 1, std::vector<std::byte>(5000));
  RawClient client{contact};
  ASSERT_TRUE(client.send(oversized));
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(refusal_of(*answer).code(), Code::too_large);
  EXPECT_LT(slowest_request_s(*memory, 1), fine_s);
}

TEST(ServerFault, a_hello_that_ends_anywhere_does_no_harm) {
  ServerProcess server{{.size = mib}};
  const Contact contact = server.contact_value();
  (void)server.report();
  const std::size_t base = server.quiet_descriptors();
  const Credentials own{contact.job, contact.nonce, 1, {}, "client"};
  const auto hello = ClientHandshake{own}.begin().value();
  const auto whole = encode_frame(hello.type, 1, hello.payload);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    RawClient client{contact};
    ASSERT_TRUE(length == 0 || client.send(std::span{whole}.first(length)));
  }
  EXPECT_TRUE(soon([&] { return server.descriptors() == base; }));
}

TEST(ServerFault, another_version_is_told_both) {
  ServerProcess server{{.size = mib}};
  RawClient client{server.contact_value()};
  ASSERT_TRUE(client.send(encode_frame(FrameType::hello, 1, {}, 77)));
  const auto answer = client.receive();
  ASSERT_TRUE(answer.has_value());
  const Status status = refusal_of(*answer);
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_NE(status.message().find("version 77"), std::string::npos) << status.message();
}

TEST(ServerFault, slow_hellos_do_not_delay_others) {
  ServerLimits limits;
  limits.hello_s = 0.5;
  ServerProcess server{{.size = mib, .limits = limits}};
  const Contact contact = server.contact_value();
  auto memory = server.connect();
  ASSERT_TRUE(memory);
  std::vector<RawClient> slow;
  for (int i = 0; i < 200; ++i) slow.emplace_back(contact).send("W");
  EXPECT_LT(slowest_request_s(*memory, 1), fine_s);
  EXPECT_TRUE(server.connect() != nullptr);  // somebody new is let in too
  for (const RawClient& client : slow) EXPECT_TRUE(client.is_closed(5));
}

TEST(ServerFault, a_request_that_stalls_or_repeats_ends_its_connection_only) {
  ServerLimits limits;
  limits.progress_s = 0.3;
  ServerProcess server{{.size = mib, .limits = limits}};
  const Contact contact = server.contact_value();
  auto memory = server.connect();
  ASSERT_TRUE(memory);
  const auto request = encode_frame(MemoryMessage::status, 2, {});
  RawClient stalled{contact}, repeating{contact}, unknown{contact};
  ASSERT_TRUE(stalled.greet(contact) && repeating.greet(contact) && unknown.greet(contact));
  ASSERT_TRUE(stalled.send(std::span{request}.first(10)));
  ASSERT_TRUE(repeating.send(request) && repeating.receive());
  ASSERT_TRUE(repeating.send(request));
  EXPECT_EQ(refusal_of(repeating.receive().value()).code(), Code::invalid);
  EXPECT_TRUE(repeating.is_closed(2));
  EXPECT_TRUE(stalled.is_closed(3));
  ASSERT_TRUE(unknown.send(encode_frame(999, 2, {})));
  EXPECT_EQ(unknown.receive().value().type, FrameType::refused);
  EXPECT_LT(slowest_request_s(*memory, 1), fine_s);
}

TEST(ServerFault, a_damaged_request_is_asked_for_again_and_not_carried_out) {
  ServerProcess server{{.size = 4 * mib}};
  const Contact contact = server.contact_value();
  RawClient client{contact};
  ASSERT_TRUE(client.greet(contact));
  auto damaged = encode_frame(MemoryMessage::allocate, 2, encode_plain(AllocateRequest{named(1), mib, 1}));
  damaged.back() ^= std::byte{1};
  ASSERT_TRUE(client.send(damaged));
  EXPECT_EQ(client.receive().value().type, FrameType::again);
  EXPECT_EQ(server.report().used, 0U);
  ASSERT_TRUE(client.send(encode_frame(MemoryMessage::allocate, 3, encode_plain(AllocateRequest{named(1), mib, 1}))));
  EXPECT_EQ(client.receive().value().type, MemoryMessage::region);
  for (int i = 4; i < 6; ++i) client.send(damaged);
  EXPECT_TRUE(client.is_closed(2));
}

TEST(ServerFault, a_client_that_takes_no_answers_is_dropped) {
  ServerProcess server{{.size = mib}};
  const Contact contact = server.contact_value();
  auto memory = server.connect();
  ASSERT_TRUE(memory);
  RawClient deaf{contact};
  ASSERT_TRUE(deaf.greet(contact));
  std::uint64_t sequence = 2;
  EXPECT_TRUE(soon([&] {
    for (int i = 0; i < 500 && deaf.send(encode_frame(MemoryMessage::status, sequence, {})); ++i) ++sequence;
    return deaf.has_hung_up();
  }));
  EXPECT_LT(slowest_request_s(*memory, 1), fine_s);
}

TEST(ServerFault, a_thousand_clients_that_are_killed_leave_nothing) {
  ServerProcess server{{.size = 64 * mib}};
  (void)server.report();
  const std::size_t base = server.quiet_descriptors();
  constexpr int clients = 1000, at_a_time = 20;
  for (int i = 0; i < clients; i += at_a_time) {
    std::vector<std::unique_ptr<Child>> children;
    for (int k = 0; k < at_a_time; ++k)
      children.push_back(std::make_unique<Child>([&] {
        auto memory = server.connect();
        if (memory) (void)memory->allocate(named(static_cast<std::uint64_t>(i + k)), 65536).ok();
        ::raise(SIGKILL);
        return 0;
      }));
    for (auto& child : children) ASSERT_EQ(child->wait(), 128 + SIGKILL);
  }
  EXPECT_TRUE(soon([&] { return server.report().used == 0; }));
  EXPECT_TRUE(soon([&] { return server.descriptors() == base; })) << server.descriptors() << " not " << base;
  EXPECT_EQ(server.process().end(SIGTERM), 0);
}

TEST(ServerFault, without_descriptors_it_neither_spins_nor_dies) {
  ServerLimits limits;
  limits.connections = 1000;
  ServerProcess server{{.size = mib, .limits = limits}, [] {
                         const rlimit few{32, 32};
                         ::setrlimit(RLIMIT_NOFILE, &few);
                       }};
  const Contact contact = server.contact_value();
  {
    std::vector<RawClient> many;
    for (int i = 0; i < 60; ++i) many.emplace_back(contact);
    const double before = processor_seconds(server.process().pid());
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    EXPECT_LT(processor_seconds(server.process().pid()) - before, 0.25);
  }
  EXPECT_TRUE(soon([&] { return open_with(contact, "").ok(); }));
}

TEST(ServerFault, more_clients_than_allowed_are_told_so) {
  ServerLimits limits;
  limits.per_user = 3;
  ServerProcess server{{.size = mib, .limits = limits}};
  auto a = server.connect(), b = server.connect(), c = server.connect();
  const Status status = open_with(server.contact_value(), "");
  EXPECT_EQ(status.code(), Code::too_many_files);
  EXPECT_NE(status.message().find("--clients"), std::string::npos) << status.message();
  a.reset();
  EXPECT_TRUE(soon([&] { return open_with(server.contact_value(), "").ok(); }));
}

TEST(ServerFault, a_client_that_says_nothing_for_too_long_is_given_up) {
  ServerLimits limits;
  limits.idle_s = 0.2;
  ServerProcess server{{.size = mib, .limits = limits}};
  auto memory = server.connect();
  auto region = memory->allocate(named(1), 4096).value();
  EXPECT_TRUE(soon([&] { return server.report().used == 0; }));
  EXPECT_EQ(memory->failure().code(), Code::io);
}

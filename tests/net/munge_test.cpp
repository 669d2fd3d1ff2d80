#include "net/munge.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "net/private_file.hpp"
#include "remote/raw_client.hpp"
#include "remote/server_process.hpp"

using namespace weir;
using namespace weir::testing;

namespace {

constexpr const char* munged = "/usr/sbin/munged";

/// munged with a key and a socket of its own.
class Daemon {
 public:
  Daemon() {
    ::chmod(directory_.path().c_str(), 0711);  // every user may ask, as at the usual place
    const auto key = random_bytes<64>().value();
    EXPECT_TRUE(write_private_file(directory_ / "key", {reinterpret_cast<const char*>(key.data()), key.size()}).ok());
    child_.emplace([&] {
      const int quiet = ::open((directory_ / "said").c_str(), O_WRONLY | O_CREAT, 0600);
      ::dup2(quiet, STDERR_FILENO);
      const auto option = [&](const char* name, const char* file) { return std::string{name} + directory_ / file; };
      ::execl(munged, munged, "--foreground", option("--key-file=", "key").c_str(),
              option("--socket=", "socket").c_str(), option("--pid-file=", "pid").c_str(),
              option("--seed-file=", "seed").c_str(), option("--log-file=", "log").c_str(), nullptr);
      return 1;
    });
    EXPECT_TRUE(soon([&] { return munge().credential({}).ok(); })) << said();
  }
  ~Daemon() { child_->end(SIGTERM); }

  [[nodiscard]] std::string socket() const { return directory_ / "socket"; }
  [[nodiscard]] Munge munge(int lifetime_s = 0) const { return Munge::make(socket(), lifetime_s).value(); }

 private:
  [[nodiscard]] std::string said() const {
    std::ifstream file{directory_ / "said"};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  ScratchDirectory directory_;
  std::optional<Child> child_;
};

class MungeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Munge::make().status().code() == Code::unsupported) GTEST_SKIP() << "built without munge, or without libmunge";
    if (::access(munged, X_OK) != 0) GTEST_SKIP() << munged << " is not installed";
    daemon_.emplace();
  }
  std::optional<Daemon> daemon_;
};

std::vector<std::byte> message(char filling) { return std::vector<std::byte>(100, static_cast<std::byte>(filling)); }

Frame frame_of(const HandshakeReply& reply, std::uint64_t sequence = 1) {
  return {reply.type, sequence, reply.payload, false};
}

}  // namespace

TEST(Munge, is_named_in_the_place_of_a_file) {
  EXPECT_EQ(Munge::socket_in("munge"), "");
  EXPECT_EQ(Munge::socket_in("munge:/run/other"), "/run/other");
  for (const char* file : {"", "./munge", "munge.secret", "mung"}) EXPECT_FALSE(Munge::socket_in(file)) << file;
}

TEST_F(MungeTest, a_credential_is_good_for_its_message_once_and_not_for_long) {
  const Munge munge = daemon_->munge(), hasty = daemon_->munge(1);
  const auto late = hasty.credential(message('a')).value();
  const auto soon_enough = munge.credential(message('a')).value();
  EXPECT_EQ(munge.check(soon_enough, message('a')).message(), "");
  const Status replayed = munge.check(soon_enough, message('a'));
  EXPECT_EQ(replayed.code(), Code::access);
  EXPECT_NE(replayed.message().find("eplay"), std::string::npos) << replayed.message();
  EXPECT_EQ(munge.check(munge.credential(message('b')).value(), message('a')).code(), Code::access);
  EXPECT_EQ(munge.check(message('x'), message('a')).code(), Code::access);
  EXPECT_EQ(munge.check({}, message('a')).code(), Code::access);
  std::this_thread::sleep_for(std::chrono::milliseconds{2100});
  const Status expired = munge.check(late, message('a'));
  EXPECT_EQ(expired.code(), Code::access);
  EXPECT_NE(expired.message().find("xpired"), std::string::npos) << expired.message();
}

TEST_F(MungeTest, credentials_of_others_are_refused) {
  const Munge munge = daemon_->munge();
  const Daemon other;  // of a machine with another key
  EXPECT_EQ(munge.check(other.munge().credential(message('a')).value(), message('a')).code(), Code::access);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Child stranger{[&] {
    if (::setuid(65534) != 0) return 99;
    const auto own = munge.credential(message('a')).value();
    return ::write(ends[1], own.data(), own.size()) == static_cast<ssize_t>(own.size()) ? 0 : 98;
  }};
  ASSERT_EQ(stranger.wait(), 0);
  std::vector<std::byte> foreign(4096);
  foreign.resize(static_cast<std::size_t>(::read(ends[0], foreign.data(), foreign.size())));
  for (const int end : ends) ::close(end);
  EXPECT_EQ(munge.check(foreign, message('a')).code(), Code::access);
  // Nor can another user read ours.
  const auto ours = munge.credential(message('a')).value();
  Child spy{[&] { return ::setuid(65534) == 0 ? static_cast<int>(munge.check(ours, message('a')).code()) : 99; }};
  EXPECT_EQ(spy.wait(), static_cast<int>(Code::access));
}

TEST_F(MungeTest, a_server_over_tcp_takes_clients_of_its_user_and_nothing_recorded) {
  const std::string secret = "munge:" + daemon_->socket();
  ServerProcess server{{.size = mib, .listen = "tcp:127.0.0.1:0", .secret = secret}};
  const Contact contact = server.contact_value();
  const auto open = [&](const std::string& proof) { return Connection::open(contact, {1, "admin", proof, 5}); };
  auto connection = open(secret);
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  EXPECT_TRUE((*connection)->ask(MemoryMessage::status, {}).ok());
  EXPECT_EQ(open("").status().code(), Code::access);
  ScratchDirectory directory;
  ASSERT_TRUE(make_secret(directory / "secret").ok());
  const Status unlike = open(directory / "secret").status();
  EXPECT_EQ(unlike.code(), Code::access);
  EXPECT_NE(unlike.message().find("munge"), std::string::npos) << unlike.message();
  EXPECT_EQ(open("munge:" + directory / "nobody").status().code(), Code::io);
  const Daemon other;
  EXPECT_EQ(open("munge:" + other.socket()).status().code(), Code::access);
  // What a client said to the server before.
  Credentials own{contact.job, contact.nonce, 1, {}, "admin", daemon_->munge()};
  ClientHandshake handshake{own};
  const auto hello = handshake.begin().value();
  RawClient honest{contact}, thief{contact};
  ASSERT_TRUE(honest.send(encode_frame(hello.type, 1, hello.payload)));
  ASSERT_TRUE(thief.send(encode_frame(hello.type, 1, hello.payload)));
  const auto proof = handshake.take(honest.receive().value()).value();
  ASSERT_EQ(thief.receive().value().type, FrameType::challenge);
  for (RawClient* client : {&honest, &thief}) ASSERT_TRUE(client->send(encode_frame(proof.type, 2, proof.payload)));
  EXPECT_EQ(honest.receive().value().type, FrameType::welcome);
  EXPECT_EQ(thief.receive().value().type, FrameType::refused);
  EXPECT_TRUE(open(secret).ok());
}

TEST_F(MungeTest, a_server_is_believed_only_by_its_own_users_credential) {
  const Daemon other;
  const Credentials client{"job", {}, 1, {}, "client", daemon_->munge()};
  const Credentials good{"job", {}, 1, {}, "", daemon_->munge()}, none{"job", {}, 1, {}, "", {}};
  const auto shake_hands = [&](const Credentials& server, const Credentials& speaks) {
    ClientHandshake left{client};
    ServerHandshake right{server};
    auto proof = left.take(frame_of(right.take(frame_of(left.begin().value()))));
    if (!proof) return proof.status();
    HandshakeReply welcome = right.take(frame_of(*proof));
    if (&speaks != &server) {  // somebody in between who can say everything but the proof
      Writer forged;
      forged.put(std::uint64_t{1});
      forged.put(speaks.munge->credential(message('a')).value());
      welcome.payload = forged.data();
    }
    return left.take(frame_of(welcome)).status();
  };
  EXPECT_EQ(shake_hands(good, good).message(), "");
  const Credentials foreign{"job", {}, 1, {}, "", other.munge()};
  EXPECT_EQ(shake_hands(good, foreign).code(), Code::access);
  ClientHandshake alone{client};
  ServerHandshake careless{none};
  EXPECT_EQ(alone.take(frame_of(careless.take(frame_of(alone.begin().value())))).status().code(), Code::access);
}

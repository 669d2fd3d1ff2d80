#include "net/handshake.hpp"

#include <gtest/gtest.h>

using namespace weir;

namespace {

Secret secret_of(char filling) { return Secret(32, static_cast<std::byte>(filling)); }

Frame framed(const HandshakeReply& reply) { return {reply.type, 1, reply.payload, false}; }

/// Carries messages between the two until one of them is through; the client's view of it.
Status shake_hands(const Credentials& client, const Credentials& server, Agreement& agreed) {
  ClientHandshake left{client};
  ServerHandshake right{server};
  auto message = left.begin();
  for (int i = 0; i < 5; ++i) {
    if (!message) return message.status();
    if (message->type == FrameType::none) {
      agreed = right.agreement();
      return {};
    }
    message = left.take(framed(right.take(framed(*message))));
  }
  ADD_FAILURE() << "no end";
  return {};
}

}  // namespace

TEST(Handshake, both_agree_on_what_both_can_do) {
  for (const bool with_secret : {false, true}) {
    Credentials client{"job", {}, 0b011, {}, "client"}, server{"job", {}, 0b110, {}, ""};
    if (with_secret) client.secret = server.secret = secret_of('x');
    Agreement agreed;
    EXPECT_TRUE(shake_hands(client, server, agreed).ok());
    EXPECT_EQ(agreed.features, 0b010U);
    EXPECT_EQ(agreed.role, "client");
  }
}

TEST(Handshake, a_wrong_or_missing_secret_is_refused_on_either_side) {
  Credentials client{"job", {}, 1, secret_of('x'), "client"}, server{"job", {}, 1, secret_of('y'), ""};
  Agreement agreed;
  EXPECT_EQ(shake_hands(client, server, agreed).code(), Code::access);
  client.secret.reset();
  EXPECT_EQ(shake_hands(client, server, agreed).code(), Code::access);
  client.secret = secret_of('x');
  server.secret.reset();
  EXPECT_EQ(shake_hands(client, server, agreed).code(), Code::access);
}

TEST(Handshake, another_job_or_an_earlier_server_is_refused) {
  Credentials client{"job", {}, 1, {}, "client"}, server{"job", {}, 1, {}, ""};
  Agreement agreed;
  client.nonce[3] = std::byte{1};
  EXPECT_EQ(shake_hands(client, server, agreed).code(), Code::not_found);
  client.nonce = {};
  client.job = "other";
  EXPECT_EQ(shake_hands(client, server, agreed).code(), Code::not_found);
}

TEST(Handshake, what_was_recorded_is_of_no_use) {
  const Credentials client{"job", {}, 1, secret_of('x'), "client"}, server{"job", {}, 1, secret_of('x'), ""};
  ClientHandshake honest{client};
  ServerHandshake first{server};
  const auto hello = honest.begin().value();
  const auto proof = honest.take(framed(first.take(framed(hello)))).value();
  EXPECT_EQ(first.take(framed(proof)).type, FrameType::welcome);
  ServerHandshake second{server};
  EXPECT_EQ(second.take(framed(hello)).type, FrameType::challenge);
  EXPECT_EQ(second.take(framed(proof)).type, FrameType::refused);
  // Nor is the server's welcome to one client a welcome to another.
  ClientHandshake other{client};
  (void)other.begin().value();
  ServerHandshake third{server};
  ClientHandshake recorded{client};
  const auto answer = recorded.take(framed(third.take(framed(recorded.begin().value())))).value();
  const auto welcome = third.take(framed(answer));
  EXPECT_EQ(welcome.type, FrameType::welcome);
  EXPECT_EQ(other.take(framed(welcome)).status().code(), Code::access);
}

TEST(Handshake, frames_out_of_turn_are_refused) {
  const Credentials server{"job", {}, 1, secret_of('x'), ""};
  for (const std::uint16_t type : {FrameType::proof, FrameType::welcome, FrameType::first, std::uint16_t{999}}) {
    ServerHandshake handshake{server};
    EXPECT_EQ(handshake.take({type, 1, std::vector<std::byte>(32), false}).type, FrameType::refused);
  }
  ServerHandshake handshake{server};
  EXPECT_EQ(handshake.take({FrameType::hello, 1, std::vector<std::byte>(7), false}).type, FrameType::refused);
}

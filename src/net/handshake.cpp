#include "net/handshake.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/archive.hpp"
#include "core/errors.hpp"

namespace weir {
namespace {

struct Hello {
  std::uint64_t features = 0;
  Nonce nonce{};
  Challenge challenge{};
  std::string role, job;
};

using Proof = std::vector<std::byte>;

struct Welcome {
  std::uint64_t features = 0;
  Proof proof;
};

std::optional<Hello> read_hello(const Frame& frame) {
  Reader reader{frame.payload};
  Hello hello;
  reader.get_to(hello.features);
  reader.get_to(hello.nonce);
  reader.get_to(hello.challenge);
  reader.get_to(hello.role);
  reader.get_to(hello.job);
  if (!reader.ok() || !reader.at_end() || !is_job_id(hello.role) || !is_job_id(hello.job)) return {};
  return hello;
}

/// What is proved. Says which side speaks, so that neither can send the other's proof back to it.
std::vector<std::byte> statement(const std::string& side, const Credentials& own, const std::string& role,
                                 std::uint64_t offered, const Challenge& from_client, const Challenge& from_server) {
  Writer message;
  message.put(std::string{"weir handshake"});
  message.put(side);
  message.put(protocol_version);
  message.put(own.proof());
  message.put(role);
  message.put(own.job);
  message.put(own.nonce);
  message.put(offered);
  message.put(from_client);
  message.put(from_server);
  return message.data();
}

Result<Proof> proof_of(const Credentials& own, std::span<const std::byte> message) {
  if (own.munge) return own.munge->credential(message);
  auto mac = mac_of(*own.secret, message);
  if (!mac) return mac.status();
  return Proof{mac->begin(), mac->end()};
}

/// `access` when it is not the other side's.
Status check_proof(const Credentials& own, std::span<const std::byte> message, const Proof& given) {
  if (own.munge) return own.munge->check(given, message);
  auto expected = mac_of(*own.secret, message);
  if (!expected) return expected.status();
  if (!same(given, *expected)) return problem(Code::access, "cannot trust the other side: wrong secret");
  return {};
}

Status lost_thread(std::string_view what) {
  return problem(Code::corrupt, [&] { return fmt::format("cannot agree with the server: {}", what); });
}

/// A client has another proof than the server wants.
Status unlike(ProofKind wanted) {
  return wanted == ProofKind::munge
             ? problem(Code::access, "cannot prove to the server who this is: it wants a credential of munge",
                       "give munge instead of a file with a secret")
             : problem(Code::access, "cannot prove to the server who this is: it wants the secret of the job",
                       "name the file that the server was given with --secret");
}

}  // namespace

Status Credentials::prove_by(const std::string& secret_or_munge) {
  if (secret_or_munge.empty()) return {};
  if (auto socket = Munge::socket_in(secret_or_munge)) {
    auto made = Munge::make(*std::move(socket));
    if (made) munge = *std::move(made);
    return made.status();
  }
  auto read = read_secret(secret_or_munge);
  if (read) secret = *std::move(read);
  return read.status();
}

HandshakeReply refusal(Code code, const std::string& text) {
  Writer payload;
  payload.put(code);
  payload.put(text);
  return {FrameType::refused, payload.data()};
}

Status refusal_of(const Frame& frame) {
  Reader reader{frame.payload};
  const Code code = reader.get<Code>();
  std::string text = reader.text();
  if (!reader.ok() || code <= Code::ok || code > Code::internal) return lost_thread("an answer makes no sense");
  return {code, std::move(text)};
}

HandshakeReply ServerHandshake::refuse(Code code, std::string text, std::string reason) {
  reason_ = reason.empty() ? text : std::move(reason);
  return refusal(code, "weir: the server refuses this client: " + text);
}

HandshakeReply ServerHandshake::take(const Frame& frame) {
  if (frame.damaged) return refuse(Code::corrupt, "a frame of the handshake is damaged");
  if (!challenged_ && frame.type == FrameType::hello) return greet(frame);
  if (challenged_ && frame.type == FrameType::proof) return check(frame);
  return refuse(Code::corrupt, fmt::format("a frame of type {} is no part of the handshake here", frame.type));
}

HandshakeReply ServerHandshake::greet(const Frame& frame) {
  const auto hello = read_hello(frame);
  if (!hello) return refuse(Code::corrupt, "its hello makes no sense");
  if (hello->job != own_.job || !same(hello->nonce, own_.nonce))
    return refuse(Code::not_found,
                  "it looks for another server, that was here before\n"
                  "      the contact file is stale: take the one that the running server wrote",
                  "stale contact file");
  agreement_ = {hello->features & own_.features, hello->role};
  offered_ = hello->features;
  from_client_ = hello->challenge;
  if (own_.proof() == ProofKind::none) return welcome();
  if (Status status = fill_random(from_server_); !status) return refuse(status.code(), status.message());
  challenged_ = true;
  Writer payload;
  payload.put(from_server_);
  payload.put(own_.proof());
  return {FrameType::challenge, payload.data()};
}

HandshakeReply ServerHandshake::check(const Frame& frame) {
  const Status believed = check_proof(
      own_, statement("client", own_, agreement_.role, offered_, from_client_, from_server_), frame.payload);
  if (believed) return welcome();
  if (believed.code() != Code::access) return refuse(believed.code(), believed.message());
  if (own_.munge) return refuse(Code::access, "munge does not vouch for it", believed.message());
  return refuse(Code::access, "it does not know the secret\n      name the file with the secret of the job",
                "wrong secret");
}

HandshakeReply ServerHandshake::welcome() {
  Welcome welcome{agreement_.features, {}};
  if (own_.proof() != ProofKind::none) {
    auto proof =
        proof_of(own_, statement("server", own_, agreement_.role, agreement_.features, from_client_, from_server_));
    if (!proof) return refuse(proof.status().code(), proof.status().message());
    welcome.proof = *std::move(proof);
  }
  Writer payload;
  payload.put(welcome.features);
  payload.put(welcome.proof);
  return {FrameType::welcome, payload.data()};
}

Result<HandshakeReply> ClientHandshake::begin() {
  if (Status status = fill_random(from_client_); !status) return status;
  Writer payload;
  payload.put(own_.features);
  payload.put(own_.nonce);
  payload.put(from_client_);
  payload.put(own_.role);
  payload.put(own_.job);
  return HandshakeReply{FrameType::hello, payload.data()};
}

Result<HandshakeReply> ClientHandshake::take(const Frame& frame) {
  if (frame.damaged) return lost_thread("a frame is damaged");
  Reader reader{frame.payload};
  if (frame.type == FrameType::refused) return refusal_of(frame);
  if (frame.type == FrameType::challenge && !challenged_) {
    reader.get_to(from_server_);
    const auto wanted = reader.get<ProofKind>();
    if (!reader.ok() || !reader.at_end()) return lost_thread("its challenge makes no sense");
    if (own_.proof() == ProofKind::none || wanted != own_.proof()) return unlike(wanted);
    challenged_ = true;
    auto proof = proof_of(own_, statement("client", own_, own_.role, own_.features, from_client_, from_server_));
    if (!proof) return proof.status();
    return HandshakeReply{FrameType::proof, *std::move(proof)};
  }
  if (frame.type != FrameType::welcome) return lost_thread("an answer is out of turn");
  Welcome welcome;
  reader.get_to(welcome.features);
  reader.get_to(welcome.proof);
  if (!reader.ok() || !reader.at_end()) return lost_thread("its welcome makes no sense");
  if (own_.proof() != ProofKind::none) {
    if (!challenged_)
      return problem(Code::access, "cannot trust the server: it does not prove who it is",
                     "the server must be started with the same --secret");
    const Status believed = check_proof(
        own_, statement("server", own_, own_.role, welcome.features, from_client_, from_server_), welcome.proof);
    if (!believed)
      return own_.munge ? believed
                        : problem(believed.code(), "cannot trust the server: it does not know the secret of the job",
                                  "the server must be started with the same --secret");
  }
  agreement_ = {welcome.features & own_.features, own_.role};
  return HandshakeReply{};
}

}  // namespace weir

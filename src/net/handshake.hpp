#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <weir/status.hpp>

#include "net/contact_file.hpp"
#include "net/frame.hpp"
#include "net/munge.hpp"
#include "net/secret.hpp"

/// How two processes prove to one another who they are before anything else is said.
///
/// client: hello (features, role, job, the server's nonce as in its contact file, a challenge)
/// server: challenge, and what it takes for a proof, where it wants one; else welcome
/// client: proof over all of both: an HMAC of the secret, or a credential of munge
/// server: welcome, with the server's own proof of the same kind
///
/// Where there is none, the kernel's word on who is at the other end of a UNIX socket is the proof.
namespace weir {

struct HandshakeLimits {
  static constexpr std::uint64_t most_bytes = 4096;
};

enum class ProofKind : std::uint8_t { none, secret, munge };

/// What one side brings to it.
struct Credentials {
  std::string job;
  Nonce nonce{};               ///< of this life of the server
  std::uint64_t features = 0;  ///< that it has, as bits of the service
  std::optional<Secret> secret;
  std::string role = "client";  ///< of the client
  std::optional<Munge> munge = {};  ///< instead of a secret

  /// Takes what proves this side: a file with a secret, or "munge" or "munge:SOCKET"; nothing where it is "".
  Status prove_by(const std::string& secret_or_munge);
  [[nodiscard]] ProofKind proof() const noexcept {
    return munge ? ProofKind::munge : secret ? ProofKind::secret : ProofKind::none;
  }
};

using Challenge = std::array<std::byte, 32>;

struct Agreement {
  std::uint64_t features = 0;  ///< that both have
  std::string role;
};

struct HandshakeReply {
  std::uint16_t type = FrameType::none;
  std::vector<std::byte> payload;
};

class ServerHandshake {
 public:
  explicit ServerHandshake(const Credentials& own) : own_{own} {}

  /// The answer to send. When it is `welcome`, the client is who it says, and `agreement` holds; after `refused` the
  /// connection is to be closed.
  HandshakeReply take(const Frame& frame);
  [[nodiscard]] const Agreement& agreement() const noexcept { return agreement_; }
  /// Why the client was refused, for the log of the server; the client is told less.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  HandshakeReply greet(const Frame& frame);
  HandshakeReply check(const Frame& frame);
  HandshakeReply welcome();
  HandshakeReply refuse(Code code, std::string text, std::string reason = {});

  const Credentials& own_;
  bool challenged_ = false;
  Challenge from_client_{}, from_server_{};
  std::uint64_t offered_ = 0;
  Agreement agreement_;
  std::string reason_;
};

class ClientHandshake {
 public:
  explicit ClientHandshake(const Credentials& own) : own_{own} {}

  Result<HandshakeReply> begin();
  /// The answer to send; `none` when the handshake is over. `access` when either side does not believe the other.
  Result<HandshakeReply> take(const Frame& frame);
  [[nodiscard]] const Agreement& agreement() const noexcept { return agreement_; }

 private:
  const Credentials& own_;
  bool challenged_ = false;
  Challenge from_client_{}, from_server_{};
  Agreement agreement_;
};

/// A frame's worth of "no", for people and programs.
HandshakeReply refusal(Code code, const std::string& text);
Status refusal_of(const Frame& frame);

}  // namespace weir

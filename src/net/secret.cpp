#include "net/secret.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/errors.hpp"
#include "net/private_file.hpp"

namespace weir {

Result<Secret> read_secret(const std::string& path) {
  constexpr std::size_t least = 16, most = 4096;
  auto text = read_private_file(path, "the secret", most);
  if (!text) return text.status();
  if (text->size() < least)
    return problem(
        Code::invalid,
        [&] {
          return fmt::format("cannot use the secret in '{}': {} bytes, fewer than {}", path, text->size(), least);
        },
        "remove it: `weir memory serve --secret FILE` makes one that is not there");
  const auto* bytes = reinterpret_cast<const std::byte*>(text->data());
  return Secret{bytes, bytes + text->size()};
}

Status make_secret(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0) return {};
  auto bytes = random_bytes<32>();
  if (!bytes) return bytes.status();
  return write_private_file(path, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

Result<Mac> mac_of(std::span<const std::byte> secret, std::span<const std::byte> message) {
  Mac mac{};
  unsigned size = 0;
  if (!HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
            reinterpret_cast<const unsigned char*>(message.data()), message.size(),
            reinterpret_cast<unsigned char*>(mac.data()), &size) ||
      size != mac.size())
    return problem(Code::internal, "cannot compute an HMAC-SHA256: libcrypto refuses");
  return mac;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Status fill_random(std::span<std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR) return system_problem(errno, "get random bytes");
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace weir

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <weir/status.hpp>

#include "net/endpoint.hpp"

namespace weir {

using Nonce = std::array<std::byte, 16>;

/// What a client must know to reach a server, in a file that only the user can read. No secret is in it: the nonce only
/// tells one life of a server from the next.
struct Contact {
  Endpoint endpoint;
  std::string job;
  Nonce nonce{};
  std::int32_t pid = 0;
  std::string host;

  static Result<Contact> parse(std::string_view text, std::string_view name);
  [[nodiscard]] std::string text() const;
};

/// Letters, digits, '.', '_', '-', at most 64 of them.
bool is_job_id(std::string_view job) noexcept;

Result<Contact> read_contact(const std::string& path);

/// A contact file for as long as this lives. A file of a server that nobody can reach any more is replaced; one of a
/// server that listens is `Code::exists`.
class ContactFile {
 public:
  static Result<ContactFile> make(const std::string& path, const Contact& contact);
  ContactFile(ContactFile&& other) noexcept : path_{std::exchange(other.path_, {})}, nonce_{other.nonce_} {}
  ContactFile& operator=(ContactFile&&) = delete;
  ~ContactFile();

 private:
  ContactFile(std::string path, const Nonce& nonce) : path_{std::move(path)}, nonce_{nonce} {}
  std::string path_;
  Nonce nonce_;
};

}  // namespace weir

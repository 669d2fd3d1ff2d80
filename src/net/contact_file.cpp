#include "net/contact_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/errors.hpp"
#include "net/private_file.hpp"
#include "net/socket.hpp"

namespace weir {
namespace {

constexpr std::string_view contact_title = "weir-contact 1";
constexpr std::size_t most_contact_bytes = 4096;
constexpr double probe_s = 1;

std::string hex_of(const Nonce& nonce) {
  std::string text;
  for (const std::byte byte : nonce) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

template <class Number>
bool read_number(std::string_view text, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_nonce(std::string_view text, Nonce& nonce) {
  if (text.size() != 2 * nonce.size()) return false;
  for (std::size_t i = 0; i < nonce.size(); ++i) {
    unsigned byte = 0;
    if (!read_number(text.substr(2 * i, 2), byte, 16)) return false;
    nonce[i] = static_cast<std::byte>(byte);
  }
  return true;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool is_listening(const Contact& contact) { return connect_to(contact.endpoint, Deadline::in(probe_s)).ok(); }

}  // namespace

bool is_job_id(std::string_view job) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !job.empty() && job.size() <= 64 && std::ranges::all_of(job, allowed);
}

std::string Contact::text() const {
  return fmt::format("{}\naddress {}\njob {}\nnonce {}\npid {}\nhost {}\n", contact_title, endpoint.text(), job,
                     hex_of(nonce), pid, host);
}

Result<Contact> Contact::parse(std::string_view text, std::string_view name) {
  const auto failed = [&](std::string_view reason) {
    return problem(
        Code::invalid, [&] { return fmt::format("cannot use the contact file '{}': {}", name, reason); },
        "it must be as `weir memory serve --contact FILE` wrote it");
  };
  if (next_line(text) != contact_title) return failed(fmt::format("it does not begin with '{}'", contact_title));
  Contact contact;
  unsigned seen = 0;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view key = line.substr(0, space), value = line.substr(std::min(space + 1, line.size()));
    bool good = true;
    if (key == "address") {
      auto endpoint = Endpoint::parse(value);
      if (!endpoint) return endpoint.status();
      contact.endpoint = *std::move(endpoint);
      seen |= 1;
    } else if (key == "job") {
      good = is_job_id(value);
      contact.job = value;
      seen |= 2;
    } else if (key == "nonce") {
      good = read_nonce(value, contact.nonce);
      seen |= 4;
    } else if (key == "pid") {
      good = read_number(value, contact.pid);
    } else if (key == "host") {
      contact.host = value;
    } else {
      good = false;
    }
    if (!good) return failed(fmt::format("wrong line '{}'", line));
  }
  if (seen != 7) return failed("address, job or nonce is missing");
  return contact;
}

Result<Contact> read_contact(const std::string& path) {
  auto text = read_private_file(path, "the contact of a server", most_contact_bytes);
  if (!text) return text.status();
  return Contact::parse(*text, path);
}

Result<ContactFile> ContactFile::make(const std::string& path, const Contact& contact) {
  if (auto old = read_contact(path)) {
    // Who listens where the old server did is the new one.
    if (old->endpoint != contact.endpoint && is_listening(*old))
      return problem(
          Code::exists,
          [&] {
            return fmt::format("cannot make the contact file '{}': the server of process {} on {} listens at {}", path,
                               old->pid, old->host, old->endpoint.text());
          },
          "name another with --contact, or end that server");
  } else if (old.status().code() != Code::not_found) {
    return old.status();
  }
  if (Status status = write_private_file(path, contact.text()); !status) return status;
  return ContactFile{path, contact.nonce};
}

ContactFile::~ContactFile() {
  if (path_.empty()) return;
  if (auto mine = read_contact(path_); mine && mine->nonce == nonce_) ::unlink(path_.c_str());
}

}  // namespace weir

#include "net/endpoint.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <charconv>

#include "core/errors.hpp"

namespace weir {
namespace {

Status wrong_endpoint(std::string_view text, std::string_view reason) {
  return problem(
      Code::invalid, [&] { return fmt::format("cannot use the address '{}': {}", text, reason); },
      "addresses are unix:PATH or tcp:HOST:PORT, such as tcp:127.0.0.1:0");
}

}  // namespace

Result<Endpoint> Endpoint::parse(std::string_view text) {
  if (text.starts_with("unix:")) {
    const std::string_view path = text.substr(5);
    if (path.empty() || path.find('\0') != path.npos) return wrong_endpoint(text, "it names no path");
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      return wrong_endpoint(text, fmt::format("its path has {} characters, more than {}", path.size(),
                                              sizeof(sockaddr_un::sun_path) - 1));
    return Endpoint{true, std::string{path}, 0};
  }
  if (!text.starts_with("tcp:")) return wrong_endpoint(text, "neither unix nor tcp");
  std::string_view host = text.substr(4);
  const std::size_t colon = host.rfind(':');
  if (colon == host.npos) return wrong_endpoint(text, "it names no port");
  const std::string_view digits = host.substr(colon + 1);
  host = host.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size())
    return wrong_endpoint(text, fmt::format("'{}' is no port", digits));
  if (host.empty()) return wrong_endpoint(text, "it names no host");
  return Endpoint{false, std::string{host}, port};
}

std::string Endpoint::text() const {
  if (local) return "unix:" + place;
  const bool brackets = place.find(':') != place.npos;
  return fmt::format("tcp:{}{}{}:{}", brackets ? "[" : "", place, brackets ? "]" : "", port);
}

}  // namespace weir

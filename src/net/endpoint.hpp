#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <weir/status.hpp>

namespace weir {

/// Where a server listens: "unix:PATH", or "tcp:HOST:PORT" with "[...]" around an IPv6 host; port 0 is any free one.
struct Endpoint {
  bool local = true;
  std::string place;  ///< path of the socket, or host
  std::uint16_t port = 0;

  static Result<Endpoint> parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  bool operator==(const Endpoint&) const = default;
};

}  // namespace weir

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::box {

/// How fast a link is.
struct Rate {
  double bytes_per_s = 0;
  std::string text;  ///< as it was written and as tc reads it: "200mbit"
};

/// Reads a number with kbit, mbit or gbit. Nothing when malformed.
std::optional<Rate> parse_rate(std::string_view text);

/// Of the links of a box: those of storage hosts may have another one.
struct Rates {
  Rate among_hosts, of_storage;
};

/// Reads "200mbit", or "50mbit:200mbit" with that of storage hosts behind the colon. Nothing when malformed.
std::optional<Rates> parse_rates(std::string_view text);

/// The part of a link that data gets: a full frame has 1514 bytes, of which 66 are headers of Ethernet, IP and TCP.
inline constexpr double payload_part = 1448.0 / 1514.0;

}  // namespace weir::box

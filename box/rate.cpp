#include "box/rate.hpp"

#include <charconv>
#include <cmath>

namespace weir::box {

std::optional<Rate> parse_rate(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number)) return {};
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  const double bits = unit == "kbit" ? 1e3 : unit == "mbit" ? 1e6 : unit == "gbit" ? 1e9 : 0;
  const double bytes_per_s = number * bits / 8;
  if (bytes_per_s < 1e3 || bytes_per_s > 12.5e9) return {};  // tbf counts bytes in a second with 32 bits times 8
  return Rate{bytes_per_s, std::string{text}};
}

std::optional<Rates> parse_rates(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto among = parse_rate(text.substr(0, colon));
  const auto storage = colon == text.npos ? among : parse_rate(text.substr(colon + 1));
  if (!among || !storage) return {};
  return Rates{*among, *storage};
}

}  // namespace weir::box

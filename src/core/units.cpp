#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace weir {
namespace {

// Three significant digits, without trailing zeros; whole numbers stay whole.
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

struct Suffix {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array suffixes{
    Suffix{"", 1},
    Suffix{"b", 1},
    Suffix{"k", 1ull << 10},
    Suffix{"kib", 1ull << 10},
    Suffix{"kb", 1'000ull},
    Suffix{"m", 1ull << 20},
    Suffix{"mib", 1ull << 20},
    Suffix{"mb", 1'000'000ull},
    Suffix{"g", 1ull << 30},
    Suffix{"gib", 1ull << 30},
    Suffix{"gb", 1'000'000'000ull},
    Suffix{"t", 1ull << 40},
    Suffix{"tib", 1ull << 40},
    Suffix{"tb", 1'000'000'000'000ull},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (unit + 1 < names.size() && value >= (unit == 0 ? 1024 : 1023.5)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", three_digits(value), names[unit]);
}

std::string format_seconds(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0 || size >= 0.9995 || !std::isfinite(size)) return three_digits(seconds) + " s";
  if (size >= 0.9995e-3) return three_digits(seconds * 1e3) + " ms";
  if (size >= 0.9995e-6) return three_digits(seconds * 1e6) + " us";
  return three_digits(seconds * 1e9) + " ns";
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t whole = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc{}) return {};

  double fraction = 0;
  const bool has_fraction = at != end && *at == '.';
  if (has_fraction) {
    if (++at == end || !is_digit(*at)) return {};
    for (double place = 0.1; at != end && is_digit(*at); ++at, place /= 10) fraction += place * (*at - '0');
  }

  while (at != end && *at == ' ') ++at;
  std::string name{at, end};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto unit = std::ranges::find(suffixes, name, &Suffix::name);
  if (unit == suffixes.end() || (has_fraction && unit->bytes == 1)) return {};

  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(whole, unit->bytes, &bytes)) return {};
  const auto rest = static_cast<std::uint64_t>(fraction * static_cast<double>(unit->bytes) + 1e-3);
  if (__builtin_add_overflow(bytes, rest, &bytes)) return {};
  return bytes;
}

}  // namespace weir

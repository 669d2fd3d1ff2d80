#include "machine/figure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace weir {
namespace {

constexpr std::array origin_names{"assumed", "document", "configured", "system", "measured"};

/// Small units are a whole number to divide by, so that "100 ns" is exactly 1e-7.
struct Scale {
  std::string_view name;
  double factor;
  double divisor = 1;

  [[nodiscard]] double to_si(double number) const { return number * factor / divisor; }
  [[nodiscard]] double from_si(double value) const { return value / factor * divisor; }
};
// The names that are written stand first, largest first.
constexpr std::array byte_scales{Scale{"PB", 1e15},           Scale{"TB", 1e12},           Scale{"GB", 1e9},
                                 Scale{"MB", 1e6},            Scale{"kB", 1e3},            Scale{"B", 1},
                                 Scale{"TiB", 1099511627776}, Scale{"GiB", 1073741824},    Scale{"MiB", 1048576},
                                 Scale{"KiB", 1024},          Scale{"KB", 1e3}};
constexpr std::array time_scales{Scale{"s", 1}, Scale{"ms", 1, 1e3}, Scale{"us", 1, 1e6}, Scale{"ns", 1, 1e9}};

std::span<const Scale> scales_of(Unit unit) {
  if (unit == Unit::seconds) return time_scales;
  return byte_scales;
}

std::string_view example_of(Unit unit) {
  return unit == Unit::seconds ? "1.5 us" : unit == Unit::bytes ? "16 GB" : "2 GB/s";
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<double> parse_amount(std::string_view text, Unit unit, std::string& why) {
  const auto wrong = [&](std::string_view what) {
    why = fmt::format("'{}' {}; write it like '{}'", text, what, example_of(unit));
    return std::optional<double>{};
  };
  if (text == "unknown") return 0;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return wrong("does not begin with a number");
  if (!std::isfinite(number) || number < 0) return wrong("is not a number from 0 on");
  std::string_view rest = trimmed({at, static_cast<std::size_t>(end - at)});
  if (unit == Unit::bytes_per_second) {
    if (rest.ends_with("/s"))
      rest.remove_suffix(2);
    else if (rest.ends_with("ps"))
      rest.remove_suffix(2);
    else
      return wrong("is not a number of bytes per second");
  }
  for (const Scale& scale : scales_of(unit))
    if (rest == scale.name) return scale.to_si(number);
  return wrong(rest.empty() ? "has no unit" : "has an unknown unit");
}

}  // namespace

std::string_view name(Origin origin) noexcept { return origin_names[static_cast<std::size_t>(origin)]; }

std::optional<Origin> parse_origin(std::string_view text) noexcept {
  for (std::size_t k = 0; k < origin_names.size(); ++k)
    if (text == origin_names[k]) return static_cast<Origin>(k);
  return {};
}

std::string format_figure(double value, Unit unit) {
  if (value <= 0) return "unknown";
  const std::string_view per = unit == Unit::bytes_per_second ? "/s" : "";
  const std::span<const Scale> scales = scales_of(unit).first(unit == Unit::seconds ? 4 : 6);
  const Scale& smallest = unit == Unit::seconds ? scales.front() : scales.back();
  for (const Scale& scale : scales)
    if (value >= scale.to_si(1)) {
      const std::string text = fmt::format("{:.12g}", scale.from_si(value));
      double again = 0;
      std::from_chars(text.data(), text.data() + text.size(), again);
      if (text.find('e') == std::string::npos && scale.to_si(again) == value)
        return fmt::format("{} {}{}", text, scale.name, per);
    }
  return fmt::format("{} {}{}", value, smallest.name, per);
}

std::string format_figure(double value, Unit unit, Origin origin, std::string_view note) {
  if (value <= 0 && origin == Origin::assumed && note.empty()) return "unknown";
  return fmt::format("{} ({})", format_figure(value, unit), format_source({origin, std::string{note}}));
}

std::string format_source(const Provenance& source) {
  return fmt::format("{}{}{}", name(source.origin), source.note.empty() ? "" : ": ", source.note);
}

std::optional<Provenance> parse_source(std::string_view text, std::string& why) {
  Provenance source;
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    source.note = trimmed(text.substr(colon + 1));
    text = text.substr(0, colon);
  }
  const std::optional<Origin> origin = parse_origin(trimmed(text));
  if (!origin)
    return why = fmt::format("'{}' is no origin; there are {}", trimmed(text), fmt::join(origin_names, ", ")),
           std::nullopt;
  source.origin = *origin;
  return source;
}

std::optional<ParsedFigure> parse_figure(std::string_view text, Unit unit, std::string& why) {
  ParsedFigure figure;
  text = trimmed(text);
  if (const std::size_t open = text.find('('); open != std::string_view::npos) {
    if (!text.ends_with(')')) return why = fmt::format("'{}' has an opening ( and no closing one", text), std::nullopt;
    std::optional<Provenance> source = parse_source(text.substr(open + 1, text.size() - open - 2), why);
    if (!source) return {};
    figure.origin = source->origin;
    figure.note = std::move(source->note);
    text = trimmed(text.substr(0, open));
  }
  const std::optional<double> value = parse_amount(text, unit, why);
  if (!value) return {};
  if (text == "unknown" && !figure.origin) figure.origin = Origin::assumed;
  figure.value = *value;
  return figure;
}

}  // namespace weir

#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// Where a number comes from, the least trustworthy first.
enum class Origin : unsigned char { assumed, document, configured, system, measured };

std::string_view name(Origin origin) noexcept;
std::optional<Origin> parse_origin(std::string_view text) noexcept;

/// Where numbers that have no unit come from: counts, lengths, lists of hops.
struct Provenance {
  Origin origin = Origin::configured;
  std::string note;  ///< as in `Figure`

  bool operator==(const Provenance&) const = default;
};

enum class Unit : unsigned char { bytes, seconds, bytes_per_second };

/// A number in an SI unit that knows where it comes from. 0 stands for unknown.
template <Unit unit>
struct Figure {
  double value = 0;
  Origin origin = Origin::assumed;
  std::string note;  ///< "TAPIOCA 2016"; may be empty

  [[nodiscard]] bool known() const noexcept { return value > 0; }
  bool operator==(const Figure&) const = default;
};

/// Stands for a bandwidth that nothing limits.
inline constexpr double unlimited = std::numeric_limits<double>::infinity();

using Capacity = Figure<Unit::bytes>;
using Latency = Figure<Unit::seconds>;
using Bandwidth = Figure<Unit::bytes_per_second>;

/// "2 GB/s", "1.5 us", "16 GB", "unknown": reading it again gives the same number. Powers of 1000.
std::string format_figure(double value, Unit unit);
/// "2 GB/s (document: TAPIOCA 2016)", "unknown (system: no permission)"
std::string format_figure(double value, Unit unit, Origin origin, std::string_view note);
template <Unit unit>
std::string format_figure(const Figure<unit>& figure) {
  return format_figure(figure.value, unit, figure.origin, figure.note);
}

/// "document: TAPIOCA 2016", "assumed"
std::string format_source(const Provenance& source);
std::optional<Provenance> parse_source(std::string_view text, std::string& why);

struct ParsedFigure {
  double value = 0;
  std::optional<Origin> origin;  ///< nothing where the text names none
  std::string note;
};
/// Reads what `format_figure` writes; also KiB to TiB, and "GBps". `why` says what is wrong when nothing is returned.
std::optional<ParsedFigure> parse_figure(std::string_view text, Unit unit, std::string& why);

}  // namespace weir

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report.hpp"

namespace weir::sim {
namespace {

constexpr int label_width = 330, bar_width = 380, value_width = 90, line_height = 18, top = 58;
constexpr const char* paper_colour = "#b8b8b8";
constexpr const char* simulated_colour = "#2b6ca3";
// From this range of values on, bars of a linear scale would hide the small ones.
constexpr double widest_linear = 100;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) c == '<' ? out += "&lt;" : c == '&' ? out += "&amp;" : out += c;
  return out;
}

std::string words(double x, double y, const std::string& text, const char* anchor = "start") {
  return fmt::format(R"(<text x="{}" y="{}" text-anchor="{}">{}</text>)"
                     "\n",
                     x, y, anchor, escaped(text));
}

std::string bar(double y, double width, double value, const char* colour) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{:.1f}" height="{}" fill="{}"/>)"
                     "\n",
                     label_width, y, width, line_height - 4, colour) +
         words(label_width + width + 5, y + line_height - 6, fmt::format("{:.3g}", value));
}

}  // namespace

std::string Report::svg() const {
  double least = INFINITY, most = 0;
  const auto consider = [&](double value) {
    if (value > 0) least = std::min(least, value);
    most = std::max(most, value);
  };
  bool papers = false;
  for (const Case& each : findings.cases) {
    consider(each.simulated);
    if (each.paper) consider(*each.paper);
    papers = papers || each.paper.has_value();
  }
  const bool logarithmic = most / least > widest_linear;
  const auto width = [&](double value) {
    if (value <= 0) return 0.0;
    const double low = std::log10(least) - 0.5;
    return bar_width * (logarithmic ? (std::log10(value) - low) / (std::log10(most) - low) : value / most);
  };

  std::string body = fmt::format(R"(<text x="8" y="20" font-size="15">{}</text>)"
                                 "\n",
                                 escaped(experiment->title));
  body += words(8, 42,
                fmt::format("{}{}; blue: simulated{}", experiment->unit, logarithmic ? ", logarithmic" : "",
                            papers ? ", grey: paper" : ""));
  int y = top;
  for (const Case& each : findings.cases) {
    body += words(label_width - 8, y + line_height - 6, each.name, "end") +
            bar(y, width(each.simulated), each.simulated, simulated_colour);
    if (each.paper) body += bar(y += line_height, width(*each.paper), *each.paper, paper_colour);
    y += line_height + 6;
  }
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" font-family="sans-serif" font-size="12">
<rect width="{0}" height="{1}" fill="white"/>
{2}</svg>
)",
      label_width + bar_width + value_width, y + 8, body);
}

}  // namespace weir::sim

#include "machine/host_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace weir {
namespace {

constexpr std::size_t most_names = 1'000'000;

struct Numbers {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t digits = 0;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || at != text.data() + text.size()) return {};
  return value;
}

std::optional<std::vector<Numbers>> numbers_of(std::string_view text, std::string& why) {
  std::vector<Numbers> result;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::string_view low = part.substr(0, dash),
                           high = dash == std::string_view::npos ? low : part.substr(dash + 1);
    const std::optional<std::uint64_t> first = number(low), last = number(high);
    if (!first || !last) return why = fmt::format("'{}' is not a number or a range of them", part), std::nullopt;
    if (*last < *first) return why = fmt::format("the range '{}' runs backwards", part), std::nullopt;
    result.push_back({*first, *last, low.size()});
    if (comma == std::string_view::npos) return result;
    text.remove_prefix(comma + 1);
  }
}

/// The end of the name at the beginning of a list: the first comma outside brackets.
std::size_t end_of_name(std::string_view text) {
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') inside = true;
    if (text[at] == ']') inside = false;
    if (text[at] == ',' && !inside) return at;
  }
  return text.size();
}

bool expand(std::string_view text, std::vector<std::string>& names, std::string& why) {
  std::vector<std::string> begun(1);
  while (!text.empty()) {
    const std::size_t open = text.find_first_of("[]");
    for (std::string& name : begun) name += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find(']');
    if (text[open] == ']' || close == std::string_view::npos)
      return why = fmt::format("'{}' has a bracket without its other half", text), false;
    const auto numbers = numbers_of(text.substr(open + 1, close - open - 1), why);
    if (!numbers) return false;
    std::vector<std::string> longer;
    for (const std::string& name : begun)
      for (const Numbers& range : *numbers) {
        if (range.last - range.first >= most_names - longer.size())
          return why = fmt::format("'{}' stands for more than {} names", text, most_names), false;
        for (std::uint64_t value = range.first; value <= range.last; ++value)
          longer.push_back(fmt::format("{}{:0{}}", name, value, range.digits));
      }
    begun = std::move(longer);
    text.remove_prefix(close + 1);
  }
  if (names.size() + begun.size() > most_names) return why = fmt::format("more than {} names", most_names), false;
  names.insert(names.end(), begun.begin(), begun.end());
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> expand_host_list(std::string_view text, std::string& why) {
  std::vector<std::string> names;
  for (;;) {
    const std::size_t end = end_of_name(text);
    if (end == 0) return why = "a name is empty", std::nullopt;
    if (!expand(text.substr(0, end), names, why)) return {};
    if (end == text.size()) return names;
    text.remove_prefix(end + 1);
  }
}

}  // namespace weir

#include "machine/short_words.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "core/errors.hpp"

namespace weir {
namespace {

constexpr std::string_view blanks = " \t\r\n";

template <Unit unit>
std::optional<Figure<unit>> parse(std::string_view text, std::string& why) {
  const std::optional<ParsedFigure> parsed = parse_figure(text, unit, why);
  if (!parsed) return {};
  if (parsed->value == 0) return why = fmt::format("'{}' is nothing", text), std::nullopt;
  return Figure<unit>{parsed->value, parsed->origin.value_or(Origin::configured), parsed->note};
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(std::min(end + 1, text.size()))) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
  }
  return parts;
}

}  // namespace

ShortWords::ShortWords(std::string_view text) {
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;
       at = text.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    std::string_view word = text.substr(at, end - at);
    while (word.ends_with(',') || word.ends_with(';')) word.remove_suffix(1);
    if (!word.empty()) words_.push_back({word, at + 1});
    at = end;
  }
}

std::string_view ShortWords::peek() const noexcept {
  return ok() && next_ < words_.size() ? words_[next_].text : std::string_view{};
}

std::string_view ShortWords::take() noexcept {
  const std::string_view word = peek();
  if (!word.empty()) ++next_;
  return word;
}

bool ShortWords::take_if(std::string_view word) noexcept {
  if (peek() != word || word.empty()) return false;
  ++next_;
  return true;
}

void ShortWords::refuse_at(std::size_t word, std::string_view why, std::string_view remedy) {
  if (!ok()) return;
  std::string where = "at the end";
  if (word < words_.size())
    where = fmt::format("word {} ('{}', column {})", word + 1, words_[word].text, words_[word].column);
  status_ = problem(Code::invalid, fmt::format("cannot read the machine's short text, {}: {}", where, why), remedy);
}

void ShortWords::refuse(std::string_view why, std::string_view remedy) {
  refuse_at(next_ ? next_ - 1 : 0, why, remedy);
}

std::optional<int> ShortWords::number(std::string_view text, int least) {
  int value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || at != text.data() + text.size() || value < least) return {};
  return value;
}

int ShortWords::whole(std::string_view what) {
  const std::vector<int> numbers = wholes('\0', 1, what);
  return numbers.empty() ? 1 : numbers.front();
}

std::vector<int> ShortWords::wholes(char separator, int least, std::string_view what) {
  if (peek().empty()) return refuse_at(next_, fmt::format("expected {}", what), "add it"), std::vector<int>{};
  std::vector<int> numbers;
  for (const std::string_view part : parts_of(take(), separator)) {
    const std::optional<int> value = number(part, least);
    if (!value) {
      refuse(fmt::format("expected {}", what),
             fmt::format("write whole numbers from {} to {}", least, std::numeric_limits<int>::max()));
      return {};
    }
    numbers.push_back(*value);
  }
  return numbers;
}

template <Unit unit>
std::vector<Figure<unit>> ShortWords::figures(std::string_view what) {
  if (peek().empty()) return refuse_at(next_, fmt::format("expected {}", what), "add it"), std::vector<Figure<unit>>{};
  std::vector<Figure<unit>> result;
  for (const std::string_view part : parts_of(take(), ',')) {
    std::string why;
    const std::optional<Figure<unit>> figure = parse<unit>(part, why);
    if (!figure) {
      refuse(fmt::format("expected {}, but {}", what, why),
             "number and unit are one word, such as 2GBps, 1.5us or 16GB");
      return {};
    }
    result.push_back(*figure);
  }
  return result;
}

template <Unit unit>
std::optional<Figure<unit>> ShortWords::figure_if() {
  std::string why;
  std::optional<Figure<unit>> figure = parse<unit>(peek(), why);
  if (figure) ++next_;
  return figure;
}

template std::vector<Bandwidth> ShortWords::figures(std::string_view);
template std::vector<Latency> ShortWords::figures(std::string_view);
template std::optional<Bandwidth> ShortWords::figure_if();
template std::optional<Latency> ShortWords::figure_if();
template std::optional<Capacity> ShortWords::figure_if();

}  // namespace weir

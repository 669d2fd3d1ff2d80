#include "machine/description_table.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/errors.hpp"
#include "core/nearest.hpp"

namespace weir {
namespace {

constexpr int most_whole = std::numeric_limits<int>::max();

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "a whole number";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

}  // namespace

void DescriptionProblem::tell(const toml::source_region& where, std::string_view what, std::string_view remedy) {
  if (!ok()) return;
  const unsigned line = std::max(where.begin.line, 1u), column = std::max(where.begin.column, 1u);
  status_ = problem(Code::invalid,
                    fmt::format("cannot read machine from {}:{}:{}: {}", origin_name_, line, column, what), remedy);
}

const toml::node* DescriptionTable::find(std::string_view key, Need need) {
  if (std::ranges::find(asked_, key) == asked_.end()) asked_.emplace_back(key);
  const toml::node* node = table_->get(key);
  if (!node && need == Need::required && missing_.empty()) missing_ = key;
  return node;
}

const toml::source_region& DescriptionTable::at(std::string_view key) const {
  const auto found = table_->find(key);
  return found == table_->end() ? table_->source() : found->first.source();
}

void DescriptionTable::wrong_type(const toml::node& node, std::string_view key, std::string_view wanted) {
  tell(node.source(), fmt::format("'{}' in {} is {}", key, name_, type_name(node)), fmt::format("write {}", wanted));
}

std::string DescriptionTable::text(std::string_view key, Need need) {
  const toml::node* node = find(key, need);
  if (!node) return {};
  const auto* text = node->as_string();
  if (!text) return wrong_type(*node, key, "a text in quotation marks"), std::string{};
  if (need == Need::required && text->get().empty())
    tell(node->source(), fmt::format("'{}' in {} is empty", key, name_), "write at least a letter");
  return text->get();
}

int DescriptionTable::entry(const toml::node& node, std::string_view key, int least) {
  const auto* number = node.as_integer();
  if (!number) return wrong_type(node, key, "whole numbers"), least;
  if (number->get() >= least && number->get() <= most_whole) return static_cast<int>(number->get());
  tell(node.source(), fmt::format("{} for '{}' in {}", number->get(), key, name_),
       fmt::format("write a whole number from {} to {}", least, most_whole));
  return least;
}

int DescriptionTable::whole(std::string_view key, int least, std::optional<int> otherwise) {
  const toml::node* node = find(key, otherwise ? Need::optional : Need::required);
  return node ? entry(*node, key, least) : otherwise.value_or(least);
}

const toml::array* DescriptionTable::list(std::string_view key, Need need) {
  const toml::node* node = find(key, need);
  if (node && !node->is_array()) wrong_type(*node, key, "a list in square brackets");
  return node ? node->as_array() : nullptr;
}

std::vector<int> DescriptionTable::wholes(std::string_view key, int least, Need need) {
  std::vector<int> numbers;
  if (const toml::array* entries = list(key, need))
    for (const toml::node& node : *entries) numbers.push_back(entry(node, key, least));
  return numbers;
}

const toml::table* DescriptionTable::table(std::string_view key) {
  const toml::node* node = find(key, Need::optional);
  if (node && !node->is_table()) wrong_type(*node, key, fmt::format("a table [{}]", key));
  return node ? node->as_table() : nullptr;
}

ParsedFigure DescriptionTable::amount(std::string_view key, Unit unit, Need need) {
  const ParsedFigure nothing{0, Origin::assumed, {}};
  const toml::node* node = find(key, need);
  if (!node) return nothing;
  const std::string_view example = unit == Unit::seconds ? "1.5 us" : unit == Unit::bytes ? "16 GB" : "2 GB/s";
  const auto* text = node->as_string();
  if (!text) return wrong_type(*node, key, fmt::format("number and unit as a text, such as \"{}\"", example)), nothing;
  std::string why;
  const std::optional<ParsedFigure> parsed = parse_figure(text->get(), unit, why);
  if (!parsed) {
    tell(node->source(), fmt::format("'{}' in {}: {}", key, name_, why),
         "a number, a unit and where it comes from, such as \"2 GB/s (document: its title)\"");
    return nothing;
  }
  if (parsed->value == 0 && !text->get().starts_with("unknown")) {
    tell(node->source(), fmt::format("'{}' in {} is 0", key, name_), "leave it out where it is unknown");
    return nothing;
  }
  return *parsed;
}

Provenance DescriptionTable::source(std::string_view key) {
  const std::string said = text(key, Need::optional);
  if (!has(key) || !problem_->ok()) return {};
  std::string why;
  const std::optional<Provenance> parsed = parse_source(said, why);
  if (!parsed)
    tell(at(key), fmt::format("'{}' in {}: {}", key, name_, why),
         "an origin and a note, such as \"document: its title\"");
  return parsed.value_or(Provenance{});
}

std::vector<double> DescriptionTable::byte_list(std::string_view key) {
  std::vector<double> values;
  const toml::array* entries = list(key, Need::optional);
  if (!entries) return values;
  for (const toml::node& node : *entries) {
    const auto* text = node.as_string();
    if (!text) return wrong_type(node, key, "numbers with units as texts, such as \"10 MB\""), values;
    std::string why;
    const std::optional<ParsedFigure> parsed = parse_figure(text->get(), Unit::bytes, why);
    if (!parsed)
      return tell(node.source(), fmt::format("'{}' in {}: {}", key, name_, why), "bytes with a unit"), values;
    values.push_back(parsed->value);
  }
  return values;
}

bool DescriptionTable::done() {
  std::vector<std::pair<toml::source_position, std::string>> unknown;
  for (const auto& [key, node] : *table_)
    if (std::ranges::find(asked_, key.str()) == asked_.end())
      unknown.emplace_back(key.source().begin, std::string{key.str()});
  if (!unknown.empty()) {
    const auto& key = std::ranges::min_element(unknown, {}, [](const auto& k) {
                        return std::pair{k.first.line, k.first.column};
                      })->second;
    tell(at(key), fmt::format("unknown key '{}' in {}", key, name_),
         fmt::format("did you mean '{}'? known are {}", nearest(key, asked_), fmt::join(asked_, ", ")));
  }
  if (!missing_.empty())
    tell(table_->source(), fmt::format("no '{}' in {}", missing_, name_), fmt::format("add the key '{}'", missing_));
  return problem_->ok();
}

}  // namespace weir

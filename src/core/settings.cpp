#include "core/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <ranges>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/nearest.hpp"
#include "core/settings_file.hpp"
#include "core/units.hpp"

namespace weir {
namespace {

using Type = SettingInfo::Type;

constexpr std::array<std::string_view, 2> other_variables{"WEIR_CONFIG", "WEIR_EXPLAIN"};

std::optional<std::size_t> find(std::string_view key) {
  const auto found = std::ranges::find(setting_table(), key, &SettingInfo::key);
  if (found == setting_table().end()) return {};
  return static_cast<std::size_t>(found - setting_table().begin());
}

std::size_t index_of(std::string_view key) {
  if (const auto index = find(key)) return *index;
  throw std::out_of_range{fmt::format("no setting '{}'", key)};
}

bool is_one_of(std::string_view text, std::string_view words) {
  return std::ranges::any_of(words | std::views::split('|'), [&](auto word) { return std::ranges::equal(word, text); });
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

// The value as a number, 0 for texts and choices; nothing when it is not allowed.
std::optional<std::uint64_t> parse(const SettingInfo& setting, std::string_view text) {
  switch (setting.type) {
    case Type::number:
    case Type::bytes: {
      if (text == "auto" && is_one_of(text, setting.choices)) return automatic;
      const auto number = setting.type == Type::bytes ? parse_bytes(text) : parse_number(text);
      if (!number || *number < setting.least || *number > setting.most) return {};
      return number;
    }
    case Type::flag:
      if (is_one_of(text, "yes|true|on|1")) return 1;
      if (is_one_of(text, "no|false|off|0")) return 0;
      return {};
    case Type::choice: return is_one_of(text, setting.choices) ? std::optional<std::uint64_t>{0} : std::nullopt;
    case Type::text: return !setting.check || setting.check(text) ? std::optional<std::uint64_t>{0} : std::nullopt;
  }
  return {};
}

std::string bounds(const SettingInfo& setting) {
  const auto show = [&](std::uint64_t value) {
    return setting.type == Type::bytes ? format_bytes(value) : std::to_string(value);
  };
  if (setting.most != ~std::uint64_t{0}) return fmt::format(" from {} to {}", show(setting.least), show(setting.most));
  return setting.least > 0 ? fmt::format(", at least {}", show(setting.least)) : "";
}

Status unknown_setting(std::string_view key, const std::string& origin) {
  return problem(Code::settings, fmt::format("unknown setting '{}' from {}", key, origin),
                 fmt::format("did you mean '{}'? `weir info` lists all settings",
                             nearest(key, setting_table() | std::views::transform(&SettingInfo::key))));
}

}  // namespace

std::string allowed_values(const SettingInfo& setting) {
  switch (setting.type) {
    case Type::number:
      return fmt::format("{}{}a whole number{}", setting.choices, setting.choices.empty() ? "" : " or ",
                         bounds(setting));
    case Type::bytes: return fmt::format("bytes such as 4096, 64KiB or 1.5GiB{}", bounds(setting));
    case Type::flag: return "yes or no";
    case Type::choice:
    case Type::text: break;
  }
  if (setting.choices.empty()) return "any text";
  return fmt::format("{}", fmt::join(setting.choices | std::views::split('|') | std::views::transform([](auto word) {
                                       return std::string_view{word.begin(), word.end()};
                                     }),
                                     ", "));
}

std::string environment_name(std::string_view key) {
  std::string name = "WEIR_";
  for (const unsigned char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

ResolvedSettings::ResolvedSettings() {
  static const auto defaults = std::make_shared<const Table>(Table::defaults());
  table_ = defaults;
}

ResolvedSettings::Table ResolvedSettings::Table::defaults() {
  Table table;
  for (const SettingInfo& setting : setting_table()) {
    table.values.push_back({std::string{setting.default_value}, "default"});
    table.numbers.push_back(parse(setting, setting.default_value).value());
  }
  return table;
}

Status ResolvedSettings::Table::set(const Settings& given) {
  for (const auto& [key, text] : given) {
    if (Status status = set(key, text, "program"); !status) return status;
  }
  return {};
}

Status ResolvedSettings::Table::set(std::string_view key, std::string text, const std::string& origin) {
  const auto index = find(key);
  if (!index) return unknown_setting(key, origin);
  const SettingInfo& setting = setting_table()[*index];
  const auto number = parse(setting, text);
  if (!number) {
    return problem(Code::settings, fmt::format("cannot use {} = '{}' from {}", key, text, origin),
                   fmt::format("allowed: {}", allowed_values(setting)));
  }
  values[*index] = {std::move(text), origin};
  numbers[*index] = *number;
  return {};
}

Status ResolvedSettings::Table::set_from_file() {
  const std::string file = settings_file_name();
  if (file.empty() && !std::getenv("WEIR_CONFIG")) return {};
  Result<std::vector<FileSetting>> settings = read_settings_file(file);
  if (!settings) return settings.status();
  for (FileSetting& setting : *settings) {
    if (Status status = set(setting.key, std::move(setting.text), setting.origin); !status) return status;
  }
  return {};
}

Status ResolvedSettings::Table::set_from_environment() {
  std::vector<std::string> known{other_variables.begin(), other_variables.end()};
  for (const SettingInfo& setting : setting_table()) {
    known.push_back(environment_name(setting.key));
    const char* text = std::getenv(known.back().c_str());
    if (!text) continue;
    if (Status status = set(setting.key, text, known.back()); !status) return status;
  }
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable{*entry};
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!name.starts_with("WEIR_") || std::ranges::find(known, name) != known.end()) continue;
    warnings.push_back(
        fmt::format("weir: unknown environment variable {}; did you mean {}?", name, nearest(name, known)));
  }
  return {};
}

Result<ResolvedSettings> ResolvedSettings::resolve(const Settings& given) {
  Table table = Table::defaults();
  if (Status status = table.set_from_file(); !status) return status;
  if (Status status = table.set_from_environment(); !status) return status;
  if (Status status = table.set(given); !status) return status;
  return ResolvedSettings{std::move(table)};
}

Result<ResolvedSettings> ResolvedSettings::with(const Settings& given) const {
  if (given.empty()) return *this;
  Table table = *table_;
  if (Status status = table.set(given); !status) return status;
  return ResolvedSettings{std::move(table)};
}

std::uint64_t ResolvedSettings::number(std::string_view key) const { return table_->numbers[index_of(key)]; }
bool ResolvedSettings::flag(std::string_view key) const { return table_->numbers[index_of(key)] != 0; }
const std::string& ResolvedSettings::text(std::string_view key) const { return table_->values[index_of(key)].text; }
const ResolvedSettings::Value& ResolvedSettings::value(std::string_view key) const { return table_->values[index_of(key)]; }

}  // namespace weir

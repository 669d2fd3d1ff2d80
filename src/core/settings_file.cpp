#include "core/settings_file.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/errors.hpp"

namespace weir {
namespace {

constexpr const char* default_file = "weir.toml";
constexpr std::string_view rules = "file";

Result<std::string> text_of(const toml::node& node, const std::string& key, const std::string& origin) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return std::string{flag->get() ? "yes" : "no"};
  return problem(
      Code::settings,
      fmt::format("cannot use setting '{}' from {}: it is neither text, number nor true or false", key, origin));
}

Status collect(const toml::table& table, const std::string& prefix, const std::string& path,
               std::vector<FileSetting>& settings) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string{name.str()};
    if (const auto* inner = node.as_table()) {
      if (Status status = collect(*inner, key + ".", path, settings); !status) return status;
      continue;
    }
    const std::string origin = fmt::format("{}:{}", path, name.source().begin.line);
    Result<std::string> text = text_of(node, key, origin);
    if (!text) return text.status();
    settings.push_back({key, *std::move(text), origin});
  }
  return {};
}

Result<std::string> contents_of(const std::string& path) {
  errno = 0;
  std::ifstream file{path};
  std::ostringstream contents;
  if (file && file.peek() != std::ifstream::traits_type::eof()) contents << file.rdbuf();
  if (!file.is_open() || file.bad()) {
    return problem(
        Code::settings, fmt::format("cannot read settings from '{}': {}", path, reason_of(errno ? errno : EIO)),
        "settings are read from the file that WEIR_CONFIG names, or from weir.toml in the working directory");
  }
  return contents.str();
}

Result<toml::table> parsed(const std::string& path) {
  Result<std::string> contents = contents_of(path);
  if (!contents) return contents.status();
  try {
    return toml::table{toml::parse(*contents, path)};
  } catch (const toml::parse_error& error) {
    return problem(Code::settings, fmt::format("cannot read settings from {}:{}: {}", path, error.source().begin.line,
                                               error.description()));
  }
}

}  // namespace

std::string settings_file_name() {
  if (const char* named = std::getenv("WEIR_CONFIG")) return named;
  return ::access(default_file, F_OK) == 0 ? default_file : "";
}

Result<std::vector<FileSetting>> read_settings_file(const std::string& path) {
  std::vector<FileSetting> settings;
  Result<toml::table> table = parsed(path);
  if (!table) return table.status();
  if (table->contains(rules) && (*table)[rules].is_array_of_tables()) table->erase(rules);
  if (Status status = collect(*table, "", path, settings); !status) return status;
  return settings;
}

bool FileRule::matches(const std::string& file) const {
  const bool whole = pattern.find('/') != std::string::npos;
  return ::fnmatch(pattern.c_str(), whole ? file.c_str() : file.substr(file.rfind('/') + 1).c_str(), 0) == 0;
}

Result<std::vector<FileRule>> read_file_rules(const std::string& path) {
  std::vector<FileRule> found;
  Result<toml::table> table = parsed(path);
  if (!table) return table.status();
  const auto* list = (*table)[rules].as_array();
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const auto* entry = list->get(i)->as_table();
    FileRule rule;
    if (entry)
      if (Status status = collect(*entry, "", path, rule.settings); !status) return status;
    const auto name = std::ranges::find(rule.settings, "name", &FileSetting::key);
    if (name == rule.settings.end())
      return problem(Code::settings, fmt::format("cannot use [[file]] number {} of {}: it has no name", i + 1, path),
                     "say for which files it is, such as name = \"*.h5\"");
    rule.pattern = name->text;
    rule.settings.erase(name);
    found.push_back(std::move(rule));
  }
  return found;
}

}  // namespace weir

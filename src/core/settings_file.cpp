#include "core/settings_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "core/errors.hpp"

namespace weir {
namespace {

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

}  // namespace

Result<std::vector<FileSetting>> read_settings_file(const std::string& path) {
  Result<std::string> contents = contents_of(path);
  if (!contents) return contents.status();
  try {
    std::vector<FileSetting> settings;
    if (Status status = collect(toml::parse(*contents, path), "", path, settings); !status) return status;
    return settings;
  } catch (const toml::parse_error& error) {
    return problem(Code::settings, fmt::format("cannot read settings from {}:{}: {}", path, error.source().begin.line,
                                               error.description()));
  }
}

}  // namespace weir

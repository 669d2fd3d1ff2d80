#pragma once

#include <string>
#include <vector>
#include <weir/status.hpp>

namespace weir {

struct FileSetting {
  std::string key;
  std::string text;
  std::string origin;  ///< "weir.toml:3"
};

/// The file that WEIR_CONFIG names, or weir.toml where there is one; else nothing.
std::string settings_file_name();

/// The settings written in a TOML file, in its order; tables give the first part of a key.
Result<std::vector<FileSetting>> read_settings_file(const std::string& path);

/// Settings for the data files whose name matches a pattern: a table `[[file]]` in the settings file.
struct FileRule {
  std::string pattern;  ///< as in a shell; without a slash it is for the last part of the name
  std::vector<FileSetting> settings;

  [[nodiscard]] bool matches(const std::string& file) const;
};
Result<std::vector<FileRule>> read_file_rules(const std::string& path);

}  // namespace weir

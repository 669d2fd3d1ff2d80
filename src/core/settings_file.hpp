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

/// The settings written in a TOML file, in its order; tables give the first part of a key.
Result<std::vector<FileSetting>> read_settings_file(const std::string& path);

}  // namespace weir

#pragma once

#include <string>

namespace weir {

/// The directory in which `path` stands: "." when it names none.
inline std::string directory_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace weir

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weir::tools {

/// What a program file says about itself.
struct Executable {
  std::string path;
  bool linked_dynamically = false;
  std::vector<std::string> libraries;  ///< that it asks for itself

  /// Nothing when the file is no ELF program of this machine: a script, for instance.
  static std::optional<Executable> read(const std::string& path);
};

/// The file that a shell would start for this word: nothing when there is none.
std::optional<std::string> find_program(const std::string& word);

}  // namespace weir::tools

#pragma once

#include <cstdint>
#include <string>

namespace weir {

/// The one name of a file, also where it is not there yet.
std::string resolved(const std::string& path);

/// What a created file replaces: the plain file behind a link, or the name itself, wherever the program goes.
struct NamedFile {
  std::string target;  ///< where links lead, and not relative
  bool there = false;
  bool link = false;
  bool plain = true;  ///< or not there
};
NamedFile file_named(const std::string& path);

/// Where it is until it is whole: the same on every rank, and never that of another context.
std::string temporary_name(const std::string& target, std::uint64_t context, std::uint64_t file);

/// When a file was last changed, since 1970; the least for none.
std::int64_t modified_ns(const std::string& path) noexcept;

}  // namespace weir

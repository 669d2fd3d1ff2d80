#include "engine/file_name.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <limits>
#include <new>

namespace weir {

std::string resolved(const std::string& path) {
  std::error_code ignored;
  auto real = std::filesystem::absolute(path, ignored);  // else it would depend on whether the file exists
  if (!ignored) real = std::filesystem::weakly_canonical(real, ignored);
  if (ignored == std::errc::not_enough_memory) throw std::bad_alloc{};
  return ignored ? path : real.string();
}

NamedFile file_named(const std::string& path) {
  struct stat found {};
  NamedFile file;
  file.there = lstat(path.c_str(), &found) == 0;
  file.link = file.there && S_ISLNK(found.st_mode);
  file.target = file.link || !path.starts_with('/') ? resolved(path) : path;
  if (file.link) file.there = stat(file.target.c_str(), &found) == 0;
  file.plain = !file.there || S_ISREG(found.st_mode);
  return file;
}

std::string temporary_name(const std::string& target, std::uint64_t context, std::uint64_t file) {
  const std::filesystem::path path{target};
  return (path.parent_path() / fmt::format(".{}.weir-{:016x}-{}", path.filename().string(), context, file)).string();
}

std::int64_t modified_ns(const std::string& path) noexcept {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::numeric_limits<std::int64_t>::min();
  return std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
}

}  // namespace weir

#include "executable.hpp"

#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace weir::tools {

namespace fs = std::filesystem;

namespace {

/// A file's bytes, read only where they are.
class Image {
 public:
  explicit Image(const std::string& path) : file_{path, std::ios::binary} {}

  template <class T>
  std::optional<T> at(std::uint64_t offset) {
    T value{};
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    if (!file_.read(reinterpret_cast<char*>(&value), sizeof value)) return {};
    return value;
  }
  std::string text(std::uint64_t offset) {
    std::string text;
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    std::getline(file_, text, '\0');
    return text;
  }

 private:
  std::ifstream file_;
};

}  // namespace

std::optional<Executable> Executable::read(const std::string& path) {
  Image image{path};
  const auto header = image.at<ElfW(Ehdr)>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)))
    return {};
  Executable found{path, false, {}};
  std::vector<ElfW(Phdr)> parts;
  for (unsigned i = 0; i < header->e_phnum; ++i)
    if (const auto part = image.at<ElfW(Phdr)>(header->e_phoff + i * sizeof(ElfW(Phdr)))) parts.push_back(*part);
  const auto offset_of = [&](std::uint64_t address) {
    for (const auto& part : parts)
      if (part.p_type == PT_LOAD && address >= part.p_vaddr && address < part.p_vaddr + part.p_filesz)
        return address - part.p_vaddr + part.p_offset;
    return std::uint64_t{0};
  };
  std::vector<std::uint64_t> names;
  std::uint64_t strings = 0;
  for (const auto& part : parts) {
    if (part.p_type == PT_INTERP) found.linked_dynamically = true;
    if (part.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = part.p_offset; at < part.p_offset + part.p_filesz; at += sizeof(ElfW(Dyn))) {
      const auto entry = image.at<ElfW(Dyn)>(at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = offset_of(entry->d_un.d_ptr);
    }
  }
  for (const std::uint64_t name : names) found.libraries.push_back(image.text(strings + name));
  return found;
}

std::optional<std::string> find_program(const std::string& word) {
  const auto usable = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) return usable(word) ? std::optional{word} : std::nullopt;
  const char* path = std::getenv("PATH");
  std::istringstream folders{path ? path : ""};
  for (std::string folder; std::getline(folders, folder, ':');)
    if (usable(fs::path{folder} / word)) return (fs::path{folder} / word).string();
  return {};
}

}  // namespace weir::tools

#include "machine/local_device.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/errors.hpp"
#include "core/paths.hpp"
#include "machine/posix_traits.hpp"

namespace weir {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

/// The whole disk behind a device number: "vda" for its partition vda1. Empty for what is no block device.
std::string disk_behind(dev_t device) {
  std::error_code error;
  const auto entry =
      std::filesystem::canonical(fmt::format("/sys/dev/block/{}:{}", major(device), minor(device)), error);
  if (error) return {};
  const bool partition = std::filesystem::exists(entry / "partition", error);
  return (partition ? entry.parent_path() : entry).filename().string();
}

Capacity free_space(const std::string& path) {
  struct statvfs system {};
  if (statvfs(path.c_str(), &system) != 0) return {};
  const double bytes = static_cast<double>(system.f_bavail) * static_cast<double>(system.f_frsize);
  return {bytes, Origin::system, "free"};
}

}  // namespace

std::string kind_of_disk(const std::string& name) {
  if (name.starts_with("nvme")) return "nvme";
  if (name.starts_with("pmem")) return "nvram";
  if (name.starts_with("zram") || name.starts_with("ram")) return "dram";
  const std::string rotational = first_line("/sys/block/" + name + "/queue/rotational");
  return rotational == "1" ? "hdd" : rotational == "0" ? "ssd" : "disk";
}

Bandwidth bandwidth_of_network(const std::string& name, const std::string& kind) {
  double gigabits = 0;
  if (kind == "infiniband") {
    gigabits = std::atof(first_line("/sys/class/infiniband/" + name + "/ports/1/rate").c_str());
  } else {
    gigabits = std::atof(first_line("/sys/class/net/" + name + "/speed").c_str()) / 1000;
  }
  if (gigabits <= 0) return {};
  return {gigabits * 1e9 / 8, Origin::system, "line rate of " + name};
}

std::string on_node(std::string directory, int node) {
  constexpr std::string_view word = "{node}";
  const std::string number = std::to_string(node);
  for (std::size_t at = 0; (at = directory.find(word, at)) != std::string::npos; at += number.size())
    directory.replace(at, word.size(), number);
  return directory;
}

Result<Bank> bank_in_directory(const std::string& path) {
  const auto failed = [&](int error) {
    return problem(code_of(error), [&] {
      return fmt::format("cannot use '{}' as node-local storage: {}", path, reason_of(error));
    }, "name a directory in which files can be made in memory.node_directory");
  };
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return failed(errno);
  if (!S_ISDIR(status.st_mode)) return failed(ENOTDIR);
  if (access(path.c_str(), W_OK | X_OK) != 0) return failed(errno);
  const StorageTraits traits = posix_traits(path);
  Bank bank;
  bank.name = path;
  bank.path = path;
  bank.persistency = Persistency::job;
  bank.scope = traits.local ? Scope::node : Scope::network;
  bank.capacity = free_space(path);
  if (traits.file_system == "tmpfs" || traits.file_system == "ramfs") {
    bank.kind = "dram";
  } else if (!traits.local) {
    bank.kind = "remote";
  } else {
    const std::string disk = disk_behind(status.st_dev);
    bank.kind = disk.empty() ? "disk" : kind_of_disk(disk);
  }
  return bank;
}

std::string mount_point(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::canonical(path, error);
  struct stat here {
  }, above{};
  if (error || stat(at.c_str(), &here) != 0) return path;
  while (at.has_relative_path() && stat(at.parent_path().c_str(), &above) == 0 && above.st_dev == here.st_dev)
    at = at.parent_path();
  return at.string();
}

FileSystem file_system_of(const std::string& path) {
  FileSystem found;
  const StorageTraits traits = posix_traits(path);
  found.kind = traits.file_system;
  found.path = path;
  found.block = {static_cast<double>(traits.block), Origin::system, {}};
  if (traits.stripe > 0) found.stripe = {static_cast<double>(traits.stripe), Origin::system, {}};
  found.free = free_space(path);
  if (!found.free.known()) found.free = free_space(directory_of(path));
  return found;
}

std::uint64_t memory_limit() {
  std::ifstream groups{"/proc/self/cgroup"};
  std::uint64_t least = 0;
  const auto look = [&](const std::string& file) {
    const std::uint64_t bytes = std::strtoull(first_line(file).c_str(), nullptr, 10);
    // Version 1 says "no limit" with a number near the largest one.
    if (bytes > 0 && bytes < std::uint64_t{1} << 60) least = least == 0 ? bytes : std::min(least, bytes);
  };
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers.find("memory") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = unified ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string group = line.substr(second + 1);; group = directory_of(group)) {
      look(root + (group == "/" ? "" : group) + file);
      if (group.size() <= 1 || group[0] != '/') break;
    }
  }
  return least;
}

}  // namespace weir

#include "machine/stored.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/errors.hpp"
#include "core/nearest.hpp"
#include "core/units.hpp"
#include "machine/description.hpp"
#include "machine/short_text.hpp"
#include "machine/slurm_topology.hpp"

namespace weir {
namespace {

constexpr std::size_t most_bytes = 64 << 20;  // of a file

std::vector<std::string_view> stored_names() {
  std::vector<std::string_view> names;
  for (const StoredMachine& machine : stored_machines()) names.push_back(machine.name);
  return names;
}

Result<std::string> contents_of(const std::string& path) {
  const std::string action = fmt::format("read machine from '{}'", path);
  const char* const remedy = "`weir machine --list` shows the machines that need no file";
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return system_problem(EISDIR, action, remedy);
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::string contents;
  std::vector<char> part(1 << 16);
  while (file && contents.size() <= most_bytes) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    contents.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) return system_problem(errno ? errno : EIO, action, remedy);
  if (contents.size() > most_bytes)
    return problem(Code::invalid, fmt::format("cannot {}: larger than {}", action, format_bytes(most_bytes)), remedy);
  return contents;
}

Result<Machine> slurm_machine(const std::string& text, const std::string& path) {
  Result<SlurmTopology> topology = read_slurm_topology(text, path, {LinkClass{"link", {}, {}}});
  if (!topology) return topology.status();
  Machine machine;
  machine.name = std::filesystem::path{path}.stem().string();
  machine.about = fmt::format("switches from {}", path);
  machine.topology = topology->tree;
  return machine;
}

Result<Machine> machine_of_file(const std::string& path) {
  Result<std::string> contents = contents_of(path);
  if (!contents) return contents.status();
  return path.ends_with(".conf") ? slurm_machine(*contents, path) : read_machine(*contents, path);
}

bool is_file_name(const std::string& text) {
  std::error_code error;
  return text.find('/') != std::string::npos || text.ends_with(".toml") || text.ends_with(".conf") ||
         std::filesystem::exists(text, error);
}

Status unknown_machine(std::string_view text) {
  const auto names = stored_names();
  return problem(
      Code::invalid,
      [&] { return fmt::format("cannot find machine '{}': not a stored one, no file, no short text", text); },
      fmt::format("did you mean '{}'? stored are {};\n      a file ends with .toml; a short text begins with "
                  "a topology, such as 'torus 4x4x2 link 2GBps'",
                  nearest(text.substr(0, 40), names), fmt::join(names, ", ")));
}

}  // namespace

Result<Machine> stored_machine(std::string_view name) {
  const auto found = std::ranges::find(stored_machines(), name, &StoredMachine::name);
  if (found == stored_machines().end()) return unknown_machine(name);
  return read_machine(found->text, fmt::format("machines/{}.toml", name));
}

Result<Machine> find_machine(const std::string& text) {
  if (std::ranges::find(stored_machines(), text, &StoredMachine::name) != stored_machines().end())
    return stored_machine(text);
  if (is_short_text(text)) return parse_short_text(text);
  if (is_file_name(text)) return machine_of_file(text);
  return unknown_machine(text);
}

}  // namespace weir

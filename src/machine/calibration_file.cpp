#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/errors.hpp"
#include "core/paths.hpp"
#include "machine/calibration.hpp"
#include "machine/toml_text.hpp"

namespace weir {
namespace {

constexpr std::array unit_names{"B", "s", "B/s"};
constexpr std::string_view heading = "# Made by Weir's calibration; can be removed at any time.\n";
constexpr const char* remedy = "it is not used; calibrate again, or remove it";

std::string checksum_line(std::string_view body) {
  return fmt::format("checksum = \"{:016x}\"\n", XXH3_64bits(body.data(), body.size()));
}

std::string key_text(const CalibrationKey& key) {
  return fmt::format("hosts = {}\nshape = \"{:016x}\"\nnodes = {}\nranks_per_node = {}\nstorage = {}\nbanks = {}\n",
                     toml_text(key.hosts), key.shape, key.nodes, key.ranks_per_node, toml_text(key.storage),
                     toml_text(key.banks));
}

Status damaged(std::string_view why) {
  return problem(Code::corrupt, [&] { return fmt::format("cannot use the stored calibration: {}", why); }, remedy);
}

Status foreign(std::string_view what) {
  return problem(Code::mismatch, [&] {
    return fmt::format("cannot use the stored calibration: it was made with {}", what);
  }, remedy);
}

Status compare(const CalibrationKey& found, const CalibrationKey& wanted) {
  if (found.hosts != wanted.hosts) return foreign("other hosts");
  if (found.shape != wanted.shape) return foreign("other hardware");
  if (found.nodes != wanted.nodes) return foreign(fmt::format("{} nodes, not {}", found.nodes, wanted.nodes));
  if (found.ranks_per_node != wanted.ranks_per_node)
    return foreign(fmt::format("{} ranks a node, not {}", found.ranks_per_node, wanted.ranks_per_node));
  if (found.storage != wanted.storage) return foreign(fmt::format("'{}', not '{}'", found.storage, wanted.storage));
  if (found.banks != wanted.banks) return foreign(fmt::format("banks {}, not {}", found.banks, wanted.banks));
  return {};
}

Result<Measurement> measurement_of(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (!table) return damaged("a measurement is no table");
  Measurement found;
  found.name = (*table)["name"].value_or(std::string{});
  found.value = (*table)["value"].value_or(0.0);
  found.spread = (*table)["spread"].value_or(-1.0);
  found.repetitions = (*table)["repetitions"].value_or(0);
  const auto unit = std::ranges::find(unit_names, (*table)["unit"].value_or(std::string{}));
  if (found.name.empty() || !(found.value > 0) || !(found.spread >= 0) || found.repetitions < 1 ||
      unit == unit_names.end())
    return damaged(fmt::format("measurement '{}' is incomplete", found.name));
  found.unit = static_cast<Unit>(unit - unit_names.begin());
  return found;
}

}  // namespace

std::string calibration_text(const Calibration& calibration) {
  std::string body = key_text(calibration.key);
  for (const Measurement& m : calibration.measurements)
    body +=
        fmt::format("\n[[measured]]\nname = {}\nunit = \"{}\"\nvalue = {:.17e}\nspread = {:.17e}\nrepetitions = {}\n",
                    toml_text(m.name), unit_names[static_cast<std::size_t>(m.unit)], m.value, m.spread, m.repetitions);
  return std::string{heading} + checksum_line(body) + body;
}

Result<Calibration> parse_calibration(std::string_view text, const CalibrationKey& wanted) {
  if (!text.starts_with(heading)) return damaged("it does not begin like one");
  text.remove_prefix(heading.size());
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return damaged("it is cut");
  const std::string_view body = text.substr(end + 1);
  if (text.substr(0, end + 1) != checksum_line(body)) return damaged("its checksum is wrong");
  try {
    const toml::table table = toml::parse(body);
    Calibration found;
    found.key.hosts = table["hosts"].value_or(std::string{});
    found.key.shape = std::strtoull(table["shape"].value_or(std::string{}).c_str(), nullptr, 16);
    found.key.nodes = table["nodes"].value_or(0);
    found.key.ranks_per_node = table["ranks_per_node"].value_or(0);
    found.key.storage = table["storage"].value_or(std::string{});
    found.key.banks = table["banks"].value_or(std::string{});
    if (Status status = compare(found.key, wanted); !status.ok()) return status;
    if (const toml::array* all = table["measured"].as_array())
      for (const toml::node& node : *all) {
        auto measurement = measurement_of(node);
        if (!measurement) return measurement.status();
        found.measurements.push_back(std::move(*measurement));
      }
    return found;
  } catch (const toml::parse_error& error) {
    return damaged(error.description());
  }
}

std::string calibration_path(const std::string& directory, const CalibrationKey& key) {
  std::string parent = directory;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (parent.empty() && cache && *cache == '/') parent = std::string{cache} + "/weir";
  if (parent.empty() && home && *home == '/') parent = std::string{home} + "/.cache/weir";
  if (parent.empty()) return {};
  const std::string text = key_text(key);
  return fmt::format("{}/calibration-{:016x}.toml", parent, XXH3_64bits(text.data(), text.size()));
}

Result<std::string> read_calibration(const std::string& path) {
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::ostringstream contents;
  if (file && file.peek() != std::ifstream::traits_type::eof()) contents << file.rdbuf();
  if (!file.is_open() || file.bad())
    return system_problem(errno ? errno : EIO, fmt::format("read the calibration '{}'", path));
  return contents.str();
}

Status write_calibration(const std::string& path, std::string_view text) {
  const auto failed = [&](int error) {
    return system_problem(error, fmt::format("store the calibration '{}'", path),
                          "name a directory for it in machine.calibration");
  };
  std::error_code error;
  std::filesystem::create_directories(directory_of(path), error);
  if (error) return failed(error.value());
  std::string temporary = path + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), 0);
  if (descriptor < 0) return failed(errno);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  int code = written == static_cast<ssize_t>(text.size()) && ::fsync(descriptor) == 0 ? 0 : errno ? errno : EIO;
  ::close(descriptor);
  if (code == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) ::unlink(temporary.c_str());
  return code ? failed(code) : Status{};
}

}  // namespace weir

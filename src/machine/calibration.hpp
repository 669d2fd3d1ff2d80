#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "machine/joined_nodes.hpp"

namespace weir {

/// What was measured several times: the median, and how far the middle half of the values lies apart, relative to it.
struct Measurement {
  std::string name;  ///< "network.latency", "bank.dram.read", "storage.write"
  Unit unit = Unit::seconds;
  double value = 0;
  double spread = 0;
  int repetitions = 0;

  static Measurement of(std::string name, Unit unit, std::vector<double> samples);
  bool operator==(const Measurement&) const = default;
};

/// What a calibration is valid for.
struct CalibrationKey {
  std::string hosts;  ///< a hash of their names
  std::uint64_t shape = 0;
  int nodes = 1;
  int ranks_per_node = 1;
  std::string storage;  ///< where its file system begins
  std::string banks;    ///< names, separated by commas

  static CalibrationKey of(const JoinedNodes& joined, int ranks_per_node, const std::string& storage);
  bool operator==(const CalibrationKey&) const = default;
};

/// How fast a machine really is.
struct Calibration {
  CalibrationKey key;
  std::vector<Measurement> measurements;  ///< those that could be made

  [[nodiscard]] const Measurement* find(std::string_view name) const noexcept;
  bool operator==(const Calibration&) const = default;
};

/// Replaces what was assumed, or told by the system, by what was measured; what somebody configured or documented
/// stays. The latency between nodes is divided among the links of the route from the first to the last one.
void apply(Machine& machine, const Calibration& calibration);

/// The calibration as a TOML file with a checksum, and back. Reading refuses what is damaged (`Code::corrupt`) and what
/// was measured elsewhere (`Code::mismatch`).
std::string calibration_text(const Calibration& calibration);
Result<Calibration> parse_calibration(std::string_view text, const CalibrationKey& wanted);

/// The file for a key in a cache directory; empty: XDG_CACHE_HOME/weir, or .cache/weir at home. Empty when there is
/// none.
std::string calibration_path(const std::string& directory, const CalibrationKey& key);
/// The file's text; `Code::not_found` when there is none.
Result<std::string> read_calibration(const std::string& path);
/// Readers see the old file or the new one, never a part. Makes the directory.
Status write_calibration(const std::string& path, std::string_view text);

}  // namespace weir

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <weir/weir.hpp>

namespace weir {

/// One line of the table of settings.
struct SettingInfo {
  enum class Type { number, bytes, text, choice, flag };
  std::string_view key;           ///< "plan.memory"; the environment variable is WEIR_PLAN_MEMORY
  Type type;
  std::string_view default_value; ///< as a user would write it
  std::string_view meaning;       ///< one line
  std::string_view choices;       ///< "auto|direct|aggregate" for a choice
  std::uint64_t least = 0, most = ~std::uint64_t{0};  ///< bounds of numbers and bytes
};

const std::vector<SettingInfo>& setting_table();

/// Settings with values that have been checked, and where each came from.
class ResolvedSettings {
 public:
  struct Value {
    std::string text;
    std::string origin;  ///< "default", "weir.toml:3", "WEIR_PLAN_MEMORY", "program"
  };

  /// Defaults, then the file named by WEIR_CONFIG or ./weir.toml, then WEIR_*, then `given`. An unknown name in `given`
  /// or in the file, and any malformed value, is an error that names the nearest match or the allowed values.
  static Result<ResolvedSettings> resolve(const Settings& given = {});
  /// These, overridden by `given`.
  [[nodiscard]] Result<ResolvedSettings> with(const Settings& given) const;

  [[nodiscard]] std::uint64_t number(std::string_view key) const;  ///< numbers and bytes ("64MiB" is 67108864)
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] const std::string& text(std::string_view key) const;
  [[nodiscard]] const Value& value(std::string_view key) const;
  /// Unknown WEIR_* names found in the environment, each with its nearest match: for a warning.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::vector<Value> values_;  // in the table's order
  std::vector<std::uint64_t> numbers_;
  std::vector<std::string> warnings_;
};

}  // namespace weir

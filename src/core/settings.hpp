#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weir/settings.hpp>
#include <weir/status.hpp>

namespace weir {

/// One line of the table of settings.
struct SettingInfo {
  enum class Type { number, bytes, text, choice, flag };
  std::string_view key;  ///< "plan.memory"; the environment variable is WEIR_PLAN_MEMORY
  Type type;
  std::string_view default_value;  ///< as a user would write it
  std::string_view meaning;        ///< one line
  std::string_view choices =
      {};  ///< "auto|direct|aggregate" for a choice; words that a number may be; the form of a text
  std::uint64_t least = 0, most = ~std::uint64_t{0};  ///< bounds of numbers and bytes
  bool (*check)(std::string_view text) = nullptr;     ///< whether a text has the form
};

const std::vector<SettingInfo>& setting_table();

/// What a user may write: "bytes such as 4096, 64KiB or 1.5GiB, at least 4 KiB".
std::string allowed_values(const SettingInfo& setting);
/// "WEIR_PLAN_MEMORY" for "plan.memory".
std::string environment_name(std::string_view key);

/// `number` of a setting whose value is "auto".
inline constexpr std::uint64_t automatic = ~std::uint64_t{0};

/// Settings with values that have been checked, and where each came from. Cheap to copy.
class ResolvedSettings {
 public:
  struct Value {
    std::string text;
    std::string origin;  ///< "default", "weir.toml:3", "WEIR_PLAN_MEMORY", "program"
  };

  /// All defaults.
  ResolvedSettings();

  /// Defaults, then the file named by WEIR_CONFIG or ./weir.toml, then WEIR_*, then `given`. An unknown name in `given`
  /// or in the file, and any malformed value, is an error that names the nearest match or the allowed values.
  static Result<ResolvedSettings> resolve(const Settings& given = {});
  /// These, overridden by `given`.
  [[nodiscard]] Result<ResolvedSettings> with(const Settings& given) const;

  /// Numbers and bytes: "64MiB" is 67108864, "auto" is `automatic`.
  [[nodiscard]] std::uint64_t number(std::string_view key) const;
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] const std::string& text(std::string_view key) const;
  [[nodiscard]] const Value& value(std::string_view key) const;
  /// Unknown WEIR_* names found in the environment, each with its nearest match: for a warning.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return table_->warnings; }

 private:
  struct Table {
    std::vector<Value> values;  // in the order of `setting_table`
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> warnings;

    static Table defaults();
    Status set(std::string_view key, std::string text, const std::string& origin);
    Status set(const Settings& given);
    Status set_from_file();
    Status set_from_environment();
  };
  explicit ResolvedSettings(Table table) : table_{std::make_shared<const Table>(std::move(table))} {}

  std::shared_ptr<const Table> table_;
};

}  // namespace weir

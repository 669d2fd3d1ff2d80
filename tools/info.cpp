#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include <weir/weir.hpp>

#include "commands.hpp"
#include "core/settings.hpp"

namespace weir::tools {
namespace {

struct Feature {
  std::string name;
  std::string value;
};

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string_view all{text, static_cast<std::size_t>(length)};
  std::string line{all.substr(0, all.find('\n'))};
  std::ranges::replace(line, '\t', ' ');
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::vector<Feature> features() {
  return {{"mpi", mpi_library()},
          {"uring", WEIR_HAVE_URING ? "yes" : "no: built without liburing"},
          {"ucx", WEIR_HAVE_UCX ? "yes" : "no: built without UCX"},
          {"munge", WEIR_HAVE_MUNGE ? "yes" : "no: built without libmunge"},
          {"fortran", WEIR_HAVE_FORTRAN ? "yes" : "no: built without a Fortran compiler"},
          {"simgrid", WEIR_HAVE_SIMGRID ? "yes" : "no: built without SimGrid, so without `weir sim`"}};
}

std::string shown(std::string_view value) { return value.empty() ? "(empty)" : std::string{value}; }

std::size_t width_of(const ResolvedSettings& settings, const std::string ResolvedSettings::Value::*part) {
  std::size_t width = 0;
  for (const SettingInfo& setting : setting_table()) {
    width = std::max(width, shown(settings.value(setting.key).*part).size());
  }
  return width;
}

void print_table(const ResolvedSettings& settings) {
  fmt::print("weir {}\n\n", version());
  for (const Feature& feature : features()) fmt::print("{:<9}{}\n", feature.name, feature.value);

  const std::size_t value_width = std::max<std::size_t>(7, width_of(settings, &ResolvedSettings::Value::text));
  const std::size_t origin_width = std::max<std::size_t>(7, width_of(settings, &ResolvedSettings::Value::origin));
  fmt::print("\n{:<24}{:<{}}  {:<{}}  meaning\n", "setting", "value", value_width, "from", origin_width);
  for (const SettingInfo& setting : setting_table()) {
    const auto& [text, origin] = settings.value(setting.key);
    fmt::print("{:<24}{:<{}}  {:<{}}  {}\n{:26}{}; {}\n", setting.key, shown(text), value_width, origin, origin_width,
               setting.meaning, "", environment_name(setting.key), allowed_values(setting));
  }
}

void print_json(const ResolvedSettings& settings) {
  nlohmann::ordered_json json;
  json["version"] = version();
  for (const Feature& feature : features()) json["features"][feature.name] = feature.value;
  for (const SettingInfo& setting : setting_table()) {
    const auto& [text, origin] = settings.value(setting.key);
    json["settings"][std::string{setting.key}] = {{"value", text},
                                                  {"origin", origin},
                                                  {"default", setting.default_value},
                                                  {"environment", environment_name(setting.key)},
                                                  {"meaning", setting.meaning},
                                                  {"allowed", allowed_values(setting)}};
  }
  json["warnings"] = settings.warnings();
  fmt::print("{}\n", json.dump(2));
}

void print_markdown() {
  fmt::print(R"(# Settings

Made by `weir info --markdown` from the table in src/core/settings_table.cpp.

A setting has its default, unless `weir.toml` in the working directory (or the file that `WEIR_CONFIG` names), the
environment, or the program says otherwise, each overriding the one before. In TOML, `plan.memory` is `memory` in the
table `[plan]`. An unknown name or a malformed value is an error before any data moves; an unknown `WEIR_` variable in
the environment is a warning. With `WEIR_EXPLAIN=1` every finished step is explained on stderr. `weir info` prints what
is in force.

| setting | environment | default | meaning | allowed |
|---|---|---|---|---|
)");
  for (const SettingInfo& setting : setting_table()) {
    fmt::print("| `{}` | `{}` | {} | {} | {} |\n", setting.key, environment_name(setting.key),
               setting.default_value.empty() ? "" : fmt::format("`{}`", setting.default_value), setting.meaning,
               allowed_values(setting));
  }
}

void info(bool json, bool markdown) {
  if (markdown) return print_markdown();
  Result<ResolvedSettings> settings = ResolvedSettings::resolve();
  if (!settings) {
    fmt::print(stderr, "{}\n", settings.status().message());
    return set_exit_code(2);
  }
  json ? print_json(*settings) : print_table(*settings);
  for (const std::string& warning : settings->warnings()) fmt::print(stderr, "{}\n", warning);
}

}  // namespace

void add_info(CLI::App& program) {
  static bool json = false, markdown = false;
  CLI::App* command =
      program.add_subcommand("info", "version, features, and the settings with value, origin and meaning");
  auto* as_json = command->add_flag("--json", json, "as JSON");
  command->add_flag("--markdown", markdown, "the settings' reference page, without values")->excludes(as_json);
  command->footer(R"(Examples:
  weir info
  WEIR_PLAN_MEMORY=16MiB weir info --json)");
  command->callback([] { info(json, markdown); });
}

}  // namespace weir::tools

#include "core/settings.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace weir {
namespace {

namespace fs = std::filesystem;

/// Runs each case in an empty directory, without WEIR_ variables of the outside.
class ResolvedSettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weir_settings_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    before_ = fs::current_path();
    fs::current_path(directory_);
    for (const SettingInfo& setting : setting_table()) unsetenv(environment_name(setting.key).c_str());
    unsetenv("WEIR_CONFIG");
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    fs::current_path(before_);
    fs::remove_all(directory_);
  }

  void environment(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.insert(name);
  }
  static void file(const std::string& path, const std::string& text) { std::ofstream{path} << text; }

  static std::string problem_of(const Settings& given = {}) {
    const Status status = ResolvedSettings::resolve(given).status();
    EXPECT_EQ(status.code(), Code::settings);
    return status.message();
  }

 private:
  fs::path directory_, before_;
  std::set<std::string> set_;
};

TEST(SettingTable, keys_are_unique_and_lower_case_and_all_have_a_meaning) {
  std::set<std::string_view> keys;
  for (const SettingInfo& setting : setting_table()) {
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
    EXPECT_FALSE(setting.meaning.empty()) << setting.key;
    for (const unsigned char c : setting.key) EXPECT_TRUE(std::islower(c) || c == '.' || c == '_') << setting.key;
  }
}

TEST_F(ResolvedSettingsTest, defaults_can_be_used) {
  ResolvedSettings settings = ResolvedSettings::resolve().value();
  EXPECT_EQ(settings.number("plan.memory"), 64u << 20);
  EXPECT_EQ(settings.number("plan.buffers"), 2);
  EXPECT_EQ(settings.text("plan.mode"), "auto");
  EXPECT_EQ(settings.number("exchange.spin_us"), automatic);
  EXPECT_TRUE(settings.flag("storage.replace"));
  EXPECT_EQ(settings.text("log"), "");
  EXPECT_EQ(settings.value("plan.memory").origin, "default");
}

TEST_F(ResolvedSettingsTest, program_overrides_environment_overrides_file) {
  file("weir.toml",
       "log = \"warn\"\n[plan]\nmemory = \"16MiB\"\nbuffers = 3\naggregators = 4\n[storage]\nreplace = false\n");
  environment("WEIR_PLAN_BUFFERS", "5");
  environment("WEIR_PLAN_AGGREGATORS", "6");
  ResolvedSettings settings = ResolvedSettings::resolve({{"plan.aggregators", "7"}}).value();
  EXPECT_EQ(settings.text("log"), "warn");
  EXPECT_EQ(settings.value("log").origin, "weir.toml:1");
  EXPECT_EQ(settings.number("plan.memory"), 16u << 20);
  EXPECT_EQ(settings.value("plan.memory").origin, "weir.toml:3");
  EXPECT_FALSE(settings.flag("storage.replace"));
  EXPECT_EQ(settings.number("plan.buffers"), 5);
  EXPECT_EQ(settings.value("plan.buffers").origin, "WEIR_PLAN_BUFFERS");
  EXPECT_EQ(settings.number("plan.aggregators"), 7);
  EXPECT_EQ(settings.value("plan.aggregators").origin, "program");
}

TEST_F(ResolvedSettingsTest, with_overrides_only_what_is_given) {
  ResolvedSettings settings = ResolvedSettings::resolve({{"plan.buffers", "3"}}).value();
  ResolvedSettings changed = settings.with({{"plan.mode", "direct"}}).value();
  EXPECT_EQ(changed.text("plan.mode"), "direct");
  EXPECT_EQ(changed.number("plan.buffers"), 3);
  EXPECT_EQ(settings.text("plan.mode"), "auto");
  EXPECT_EQ(settings.with({{"plan.mode", "fast"}}).status().code(), Code::settings);
}

TEST_F(ResolvedSettingsTest, weir_config_names_another_file) {
  file("weir.toml", "plan.buffers = 3\n");
  file("other.toml", "\nplan.buffers = 4\n");
  environment("WEIR_CONFIG", "other.toml");
  ResolvedSettings settings = ResolvedSettings::resolve().value();
  EXPECT_EQ(settings.number("plan.buffers"), 4);
  EXPECT_EQ(settings.value("plan.buffers").origin, "other.toml:2");
}

TEST_F(ResolvedSettingsTest, a_configuration_file_that_cannot_be_read_is_an_error) {
  environment("WEIR_CONFIG", "absent.toml");
  EXPECT_NE(problem_of().find("cannot read settings from 'absent.toml': No such file or directory"), std::string::npos);
  fs::create_directory("directory.toml");
  environment("WEIR_CONFIG", "directory.toml");
  EXPECT_NE(problem_of().find("cannot read settings from 'directory.toml': Is a directory"), std::string::npos);
}

TEST_F(ResolvedSettingsTest, an_empty_file_is_a_file_without_settings) {
  file("weir.toml", "");
  EXPECT_TRUE(ResolvedSettings::resolve());
}

TEST_F(ResolvedSettingsTest, broken_toml_is_an_error_with_its_line) {
  file("weir.toml", "[plan]\nbuffers = = 2\n");
  EXPECT_NE(problem_of().find("cannot read settings from weir.toml:2: "), std::string::npos);
}

TEST_F(ResolvedSettingsTest, lists_in_the_file_are_refused) {
  file("weir.toml", "plan.buffers = [1, 2]\n");
  EXPECT_NE(problem_of().find("'plan.buffers' from weir.toml:1"), std::string::npos);
}

TEST_F(ResolvedSettingsTest, unknown_names_are_errors_with_the_nearest_match) {
  EXPECT_EQ(problem_of({{"plan.memroy", "1MiB"}}),
            "weir: unknown setting 'plan.memroy' from program\n"
            "      did you mean 'plan.memory'? `weir info` lists all settings");
  file("weir.toml", "[storage]\nasnyc = \"plain\"\n");
  EXPECT_EQ(problem_of(),
            "weir: unknown setting 'storage.asnyc' from weir.toml:2\n"
            "      did you mean 'storage.async'? `weir info` lists all settings");
}

TEST_F(ResolvedSettingsTest, unknown_variables_are_warnings_with_the_nearest_match) {
  environment("WEIR_PLAN_MEMROY", "1MiB");
  environment("WEIR_EXPLAIN", "1");
  ResolvedSettings settings = ResolvedSettings::resolve().value();
  ASSERT_EQ(settings.warnings().size(), 1);
  EXPECT_EQ(settings.warnings()[0],
            "weir: unknown environment variable WEIR_PLAN_MEMROY; did you mean WEIR_PLAN_MEMORY?");
}

TEST_F(ResolvedSettingsTest, a_malformed_value_is_an_error_that_says_what_is_allowed) {
  EXPECT_EQ(problem_of({{"plan.memory", "64Q"}}),
            "weir: cannot use plan.memory = '64Q' from program\n"
            "      allowed: bytes such as 4096, 64KiB or 1.5GiB, at least 4 KiB");
  environment("WEIR_PLAN_BUFFERS", "many");
  EXPECT_EQ(problem_of(),
            "weir: cannot use plan.buffers = 'many' from WEIR_PLAN_BUFFERS\n"
            "      allowed: a whole number from 1 to 16");
}

TEST_F(ResolvedSettingsTest, bounds_and_forms_are_checked) {
  struct Case {
    const char* key;
    std::vector<const char*> good, bad;
  };
  const std::vector<Case> cases{
      {"plan.memory", {"4KiB", "4096", "1.5GiB"}, {"4095", "", "-1", "auto", "1e9"}},
      {"plan.buffers", {"1", "16"}, {"0", "17", "2.0", " 2", "0x2"}},
      {"plan.mode", {"auto", "direct", "aggregate"}, {"", "Direct", "auto|direct"}},
      {"plan.files", {"shared", "rank", "node", "nodes:4"}, {"", "nodes", "nodes:", "nodes:0", "nodes:4x", "nodes:-1"}},
      {"exchange.chunk", {"4KiB", "1GiB"}, {"4095", "1025MiB"}},
      {"exchange.spin_us", {"auto", "0", "1000000"}, {"1000001", "-1", "", "5us"}},
      {"storage.replace", {"yes", "no", "true", "false", "on", "off", "1", "0"}, {"", "maybe", "2"}},
      {"log", {"", "warn", "warn,plan:debug"}, {"loud", "plan:loud", "plam:debug"}},
  };
  for (const auto& [key, good, bad] : cases) {
    for (const char* text : good) EXPECT_TRUE(ResolvedSettings::resolve({{key, text}})) << key << " = " << text;
    for (const char* text : bad) EXPECT_FALSE(ResolvedSettings::resolve({{key, text}})) << key << " = " << text;
  }
}

TEST_F(ResolvedSettingsTest, every_setting_can_be_given_in_the_environment) {
  for (const SettingInfo& setting : setting_table()) {
    const std::string name = environment_name(setting.key);
    environment(name, std::string{setting.default_value});
    Result<ResolvedSettings> settings = ResolvedSettings::resolve();
    ASSERT_TRUE(settings) << settings.status().message();
    EXPECT_EQ(settings->value(setting.key).origin, name);
  }
}

}  // namespace
}  // namespace weir

#include "core/log.hpp"

#include <gtest/gtest.h>

namespace weir {
namespace {

class Log : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_TRUE(set_log(""));
    set_log_rank(-1);
  }

  static std::string written(const auto& action) {
    ::testing::internal::CaptureStderr();
    action();
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, says_nothing_unless_asked) {
  EXPECT_EQ(written([] { log_line(LogComponent::plan, LogLevel::error, "lost {}", 1); }), "");
}

TEST_F(Log, a_level_alone_is_for_all_components) {
  ASSERT_TRUE(set_log("warn"));
  EXPECT_TRUE(log_enabled(LogComponent::storage, LogLevel::error));
  EXPECT_TRUE(log_enabled(LogComponent::engine, LogLevel::warn));
  EXPECT_FALSE(log_enabled(LogComponent::engine, LogLevel::info));
}

TEST_F(Log, a_component_has_a_level_of_its_own) {
  ASSERT_TRUE(set_log("warn,plan:debug,storage:off"));
  EXPECT_TRUE(log_enabled(LogComponent::plan, LogLevel::debug));
  EXPECT_TRUE(log_enabled(LogComponent::engine, LogLevel::warn));
  EXPECT_FALSE(log_enabled(LogComponent::storage, LogLevel::error));
}

TEST_F(Log, a_line_names_rank_component_and_level) {
  ASSERT_TRUE(set_log("plan:debug"));
  EXPECT_EQ(written([] { log_line(LogComponent::plan, LogLevel::debug, "{} domains", 4); }),
            "weir: plan: debug: 4 domains\n");
  set_log_rank(3);
  EXPECT_EQ(written([] { log_line(LogComponent::plan, LogLevel::info, "done"); }), "weir: rank 3: plan: info: done\n");
}

TEST_F(Log, a_wrong_specification_changes_nothing_and_names_what_is_allowed) {
  ASSERT_TRUE(set_log("info"));
  const Status level = set_log("plan:debgu");
  EXPECT_EQ(level.code(), Code::settings);
  EXPECT_NE(level.message().find("unknown level 'debgu'"), std::string::npos) << level.message();
  EXPECT_NE(level.message().find("did you mean 'debug'"), std::string::npos) << level.message();

  const Status component = set_log("storge:warn");
  EXPECT_NE(component.message().find("did you mean 'storage'"), std::string::npos) << component.message();
  EXPECT_TRUE(log_enabled(LogComponent::plan, LogLevel::info));
}

TEST_F(Log, malformed_specifications_are_refused) {
  for (const char* text : {"loud", ",", "plan:", ":debug", "plan:debug:info", "warn,,info", "WARN"}) {
    EXPECT_FALSE(is_log_specification(text)) << text;
  }
  for (const char* text : {"", "off", "error", "warn,engine:info"}) EXPECT_TRUE(is_log_specification(text)) << text;
}

}  // namespace
}  // namespace weir

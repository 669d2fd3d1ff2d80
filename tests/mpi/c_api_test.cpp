#include <gtest/gtest.h>
#include <weir/weir.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

/// A file name that all ranks agree on, removed in the end.
class CApi : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    char directory[4096] = {};
    if (rank_ == 0) {
      std::snprintf(directory, sizeof directory, "%s/weir_c_api_XXXXXX",
                    std::filesystem::temp_directory_path().c_str());
      ASSERT_NE(mkdtemp(directory), nullptr);
    }
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    directory_ = directory;
    path_ = directory_ + "/data";
    ASSERT_EQ(weir_context_create(MPI_COMM_WORLD, nullptr, &context_), WEIR_OK) << weir_last_message();
  }
  void TearDown() override {
    EXPECT_EQ(weir_context_free(&context_), WEIR_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) std::filesystem::remove_all(directory_);
  }

  /// Two variables of rows of a (rows, 8) array of int, rows dealt out to the ranks in turn.
  weir_declaration* declared_rows(int rows) {
    weir_declaration* declaration = nullptr;
    int decomposition = -1, variable = -1;
    EXPECT_EQ(weir_declaration_new(&declaration), WEIR_OK);
    std::vector<weir_run> runs;
    for (int row = rank_; row < rows; row += ranks_) runs.push_back({static_cast<uint64_t>(row) * 32, 32, 0, 1});
    EXPECT_EQ(weir_declaration_runs(declaration, runs.size(), runs.data(), &decomposition), WEIR_OK);
    EXPECT_EQ(weir_declaration_variable(declaration, decomposition, 0, &variable), WEIR_OK);
    EXPECT_EQ(variable, 0);
    EXPECT_EQ(weir_declaration_variable(declaration, decomposition, static_cast<uint64_t>(rows) * 32, &variable),
              WEIR_OK);
    EXPECT_EQ(variable, 1);
    mine_ = runs.size() * 8;
    return declaration;
  }

  int rank_ = 0, ranks_ = 0;
  std::size_t mine_ = 0;
  std::string directory_, path_;
  weir_context* context_ = nullptr;
};

TEST_F(CApi, writes_and_reads_back) {
  weir_declaration* declaration = declared_rows(11);
  std::vector<int> a(mine_, rank_), b(mine_, -rank_), a_back(mine_, 99), b_back(mine_, 99);
  weir_file* file = nullptr;
  weir_step* step = nullptr;

  const weir_setting settings[] = {{"plan.mode", "aggregate"}, {nullptr, nullptr}};
  ASSERT_EQ(weir_create(context_, path_.c_str(), settings, &file), WEIR_OK) << weir_last_message();
  ASSERT_EQ(weir_declare(file, declaration, &step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_write(step, 1, b.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_write(step, 0, a.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_finish(step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_last_bytes(), 2 * 11 * 32);

  weir_step_report report;
  std::memset(&report, 0xff, sizeof report);
  EXPECT_EQ(weir_report(step, &report), WEIR_OK);
  EXPECT_EQ(report.bytes, 2 * mine_ * sizeof(int));
  const char* text = nullptr;
  EXPECT_EQ(weir_explain(step, &text), WEIR_OK);
  EXPECT_GT(std::strlen(text), 0);
  EXPECT_EQ(weir_sync(file), WEIR_OK);
  EXPECT_EQ(weir_step_free(&step), WEIR_OK);
  EXPECT_EQ(weir_close(&file), WEIR_OK) << weir_last_message();
  EXPECT_EQ(file, nullptr);

  ASSERT_EQ(weir_open(context_, path_.c_str(), nullptr, &file), WEIR_OK) << weir_last_message();
  ASSERT_EQ(weir_declare(file, declaration, &step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_read(step, 0, a_back.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_read(step, 1, b_back.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_start(step), WEIR_OK) << weir_last_message();
  for (int done = 0; !done;) ASSERT_EQ(weir_test(step, &done), WEIR_OK);
  EXPECT_EQ(weir_wait(step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(a, a_back);
  EXPECT_EQ(b, b_back);
  EXPECT_EQ(weir_read(step, 0, b_back.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_read(step, 1, a_back.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_close_step(&file, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_close_step(&file, step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(file, nullptr);
  EXPECT_EQ(a, b_back);
  EXPECT_EQ(b, a_back);
  EXPECT_EQ(weir_step_free(&step), WEIR_OK);
  EXPECT_EQ(weir_declaration_free(&declaration), WEIR_OK);
}

TEST_F(CApi, a_plan_is_saved_loaded_and_used_again) {
  weir_declaration* declaration = declared_rows(5);
  std::vector<int> a(mine_, rank_ + 1), b(mine_, rank_ + 2);
  weir_file* file = nullptr;
  weir_step* step = nullptr;
  weir_plan *plan = nullptr, *loaded = nullptr;
  const std::string plan_path = directory_ + "/plan";

  ASSERT_EQ(weir_create(context_, path_.c_str(), nullptr, &file), WEIR_OK) << weir_last_message();
  ASSERT_EQ(weir_declare(file, declaration, &step), WEIR_OK) << weir_last_message();
  ASSERT_EQ(weir_step_plan(step, &plan), WEIR_OK);
  ASSERT_EQ(weir_step_free(&step), WEIR_OK);
  ASSERT_EQ(weir_plan_save(plan, plan_path.c_str()), WEIR_OK) << weir_last_message();
  ASSERT_EQ(weir_load_plan(context_, plan_path.c_str(), &loaded), WEIR_OK) << weir_last_message();

  uint64_t hash = 0, loaded_hash = 1;
  EXPECT_EQ(weir_plan_hash(plan, &hash), WEIR_OK);
  EXPECT_EQ(weir_plan_hash(loaded, &loaded_hash), WEIR_OK);
  EXPECT_EQ(hash, loaded_hash);
  const char *text = nullptr, *loaded_text = nullptr;
  EXPECT_EQ(weir_plan_text(plan, &text), WEIR_OK);
  EXPECT_EQ(weir_plan_text(loaded, &loaded_text), WEIR_OK);
  EXPECT_STREQ(text, loaded_text);
  EXPECT_EQ(weir_plan_explain(loaded, &text), WEIR_OK);
  EXPECT_GT(std::strlen(text), 0);

  ASSERT_EQ(weir_plan_step(file, loaded, 4096, &step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_write(step, 0, a.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_write(step, 1, b.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_finish(step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_step_free(&step), WEIR_OK);
  EXPECT_EQ(weir_close(&file), WEIR_OK) << weir_last_message();
  EXPECT_EQ(std::filesystem::file_size(path_), 4096 + 2 * 5 * 32);

  ASSERT_EQ(weir_update_planned(context_, path_.c_str(), plan, nullptr, &file), WEIR_OK) << weir_last_message();
  ASSERT_EQ(weir_file_step(file, 8192, &step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_write(step, 0, a.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_write(step, 1, b.data(), mine_ * sizeof(int)), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_finish(step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_step_free(&step), WEIR_OK);
  EXPECT_EQ(weir_close(&file), WEIR_OK) << weir_last_message();
  EXPECT_EQ(std::filesystem::file_size(path_), 8192 + 2 * 5 * 32);

  EXPECT_EQ(weir_plan_free(&plan), WEIR_OK);
  EXPECT_EQ(weir_plan_free(&loaded), WEIR_OK);
  EXPECT_EQ(weir_declaration_free(&declaration), WEIR_OK);
}

TEST_F(CApi, a_file_that_is_not_there_is_the_same_error_on_every_rank) {
  weir_file* file = nullptr;
  EXPECT_EQ(weir_open(context_, (directory_ + "/absent").c_str(), nullptr, &file), WEIR_NOT_FOUND);
  EXPECT_EQ(file, nullptr);
  EXPECT_NE(std::strstr(weir_last_message(), "absent"), nullptr) << weir_last_message();
}

TEST_F(CApi, settings_that_cannot_be_used_are_errors) {
  const weir_setting settings[] = {{"plan.memroy", "1MiB"}, {nullptr, nullptr}};
  weir_context* context = nullptr;
  EXPECT_EQ(weir_context_create(MPI_COMM_WORLD, settings, &context), WEIR_SETTINGS);
  EXPECT_EQ(context, nullptr);
  EXPECT_NE(std::strstr(weir_last_message(), "did you mean 'plan.memory'"), nullptr) << weir_last_message();
}

TEST_F(CApi, null_pointers_are_refused_by_name) {
  weir_file* file = nullptr;
  weir_step* step = nullptr;
  weir_plan* plan = nullptr;
  weir_declaration* declaration = nullptr;
  const weir_run run = {0, 1, 0, 1};
  int number = 0;

  EXPECT_EQ(weir_create(nullptr, "a", nullptr, &file), WEIR_INVALID);
  EXPECT_STREQ(weir_last_message(), "weir: weir_create: 'context' is a null pointer");
  EXPECT_EQ(weir_create(context_, nullptr, nullptr, &file), WEIR_INVALID);
  EXPECT_STREQ(weir_last_message(), "weir: weir_create: 'path' is a null pointer");
  EXPECT_EQ(weir_create(context_, "a", nullptr, nullptr), WEIR_INVALID);
  EXPECT_STREQ(weir_last_message(), "weir: weir_create: 'file' is a null pointer");

  EXPECT_EQ(weir_context_create(MPI_COMM_WORLD, nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_open(nullptr, "a", nullptr, &file), WEIR_INVALID);
  EXPECT_EQ(weir_update(nullptr, "a", nullptr, &file), WEIR_INVALID);
  EXPECT_EQ(weir_load_plan(nullptr, "a", &plan), WEIR_INVALID);
  EXPECT_EQ(weir_create_planned(context_, "a", nullptr, nullptr, &file), WEIR_INVALID);
  EXPECT_EQ(weir_open_planned(context_, "a", nullptr, nullptr, &file), WEIR_INVALID);
  EXPECT_EQ(weir_update_planned(context_, "a", nullptr, nullptr, &file), WEIR_INVALID);
  EXPECT_EQ(weir_file_step(nullptr, 0, &step), WEIR_INVALID);
  EXPECT_EQ(weir_sync(nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_close(nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_close(&file), WEIR_INVALID);
  EXPECT_EQ(weir_declare(nullptr, declaration, &step), WEIR_INVALID);
  EXPECT_EQ(weir_write(nullptr, 0, &number, 4), WEIR_INVALID);
  EXPECT_EQ(weir_read(nullptr, 0, &number, 4), WEIR_INVALID);
  EXPECT_EQ(weir_finish(nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_start(nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_test(nullptr, &number), WEIR_INVALID);
  EXPECT_EQ(weir_wait(nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_explain(nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_report(nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_step_plan(nullptr, &plan), WEIR_INVALID);
  EXPECT_EQ(weir_plan_step(nullptr, nullptr, 0, &step), WEIR_INVALID);
  EXPECT_EQ(weir_plan_hash(nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_plan_text(nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_plan_explain(nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_plan_save(nullptr, "a"), WEIR_INVALID);
  EXPECT_EQ(weir_declaration_new(nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_declaration_runs(nullptr, 1, &run, &number), WEIR_INVALID);

  ASSERT_EQ(weir_declaration_new(&declaration), WEIR_OK);
  EXPECT_STREQ(weir_last_message(), "");
  EXPECT_EQ(weir_declaration_runs(declaration, 1, nullptr, &number), WEIR_INVALID);
  EXPECT_EQ(weir_declaration_runs(declaration, 0, nullptr, &number), WEIR_OK);
  EXPECT_EQ(weir_declaration_box(declaration, 1, nullptr, nullptr, nullptr, 1, 0, &number), WEIR_INVALID);
  const uint64_t one = 1;
  EXPECT_EQ(weir_declaration_box(declaration, 0, &one, &one, &one, 1, 0, &number), WEIR_INVALID);
  EXPECT_EQ(weir_declaration_variable(declaration, 0, 0, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_declaration_free(&declaration), WEIR_OK);
  EXPECT_EQ(declaration, nullptr);
  EXPECT_EQ(weir_declaration_free(&declaration), WEIR_OK);
  EXPECT_EQ(weir_step_free(&step), WEIR_OK);
  EXPECT_EQ(weir_plan_free(nullptr), WEIR_INVALID);
}

TEST_F(CApi, drains_a_file_from_the_nodes) {
  const std::string node = directory_ + "/node{node}";
  const weir_setting on_nodes[] = {{"storage.tier", "node"}, {"memory.node_directory", node.c_str()}, {nullptr, nullptr}};
  weir_declaration* declaration = declared_rows(11);
  std::vector<int> a(mine_, 3), b(mine_, 4);
  weir_file* file = nullptr;
  weir_step* step = nullptr;
  ASSERT_EQ(weir_create(context_, path_.c_str(), on_nodes, &file), WEIR_OK) << weir_last_message();
  ASSERT_EQ(weir_declare(file, declaration, &step), WEIR_OK);
  ASSERT_EQ(weir_write(step, 0, a.data(), a.size() * sizeof(int)), WEIR_OK);
  ASSERT_EQ(weir_write(step, 1, b.data(), b.size() * sizeof(int)), WEIR_OK);
  ASSERT_EQ(weir_close_step(&file, step), WEIR_OK) << weir_last_message();
  EXPECT_EQ(weir_step_free(&step), WEIR_OK);
  EXPECT_EQ(weir_declaration_free(&declaration), WEIR_OK);
  EXPECT_FALSE(std::filesystem::exists(path_));

  weir_drain* drain = nullptr;
  ASSERT_EQ(weir_drain_start(context_, path_.c_str(), on_nodes, &drain), WEIR_OK) << weir_last_message();
  uint64_t done = 0, total = 0;
  EXPECT_EQ(weir_drain_progress(drain, &done, &total), WEIR_OK);
  EXPECT_LE(done, total);
  EXPECT_EQ(total, rank_ == 0 ? 2u * 11 * 32 : 0u);
  ASSERT_EQ(weir_drain_wait(&drain), WEIR_OK) << weir_last_message();
  EXPECT_EQ(drain, nullptr);
  EXPECT_EQ(std::filesystem::file_size(path_), 2u * 11 * 32);
  EXPECT_EQ(weir_drain_start(context_, path_.c_str(), on_nodes, &drain), WEIR_NOT_FOUND);
  EXPECT_EQ(weir_drain_start(context_, nullptr, nullptr, &drain), WEIR_INVALID);
  EXPECT_EQ(weir_drain_progress(nullptr, &done, &total), WEIR_INVALID);
  EXPECT_EQ(weir_drain_wait(&drain), WEIR_INVALID);
}

TEST_F(CApi, codes_have_names) {
  EXPECT_STREQ(weir_code_name(WEIR_OK), "ok");
  EXPECT_STREQ(weir_code_name(WEIR_INTERNAL), "internal");
  EXPECT_STREQ(weir_code_name(4711), "unknown");
  EXPECT_EQ(weir_refuse("no"), WEIR_INVALID);
  EXPECT_STREQ(weir_last_message(), "weir: no");
}

}  // namespace

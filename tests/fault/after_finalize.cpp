#include <mpi.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include <weir/weir.hpp>

// Calls before MPI_Init and after MPI_Finalize: an error each, never a crash. Returns 0 when all is as it should be.
namespace {

int wrong = 0;

void expect_finalized(const weir::Status& status, const char* call, const char* words) {
  const bool right = status.code() == weir::Code::finalized && status.message().starts_with("weir: ") &&
                     status.message().find(words) != std::string::npos;
  if (right) return;
  ++wrong;
  std::fprintf(stderr, "%s: %s '%s'\n", call, weir::name(status.code()), status.message().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  expect_finalized(weir::Context::make(MPI_COMM_WORLD).status(), "make", "before MPI_Init");
  MPI_Init(&argc, &argv);
  const std::string path = std::filesystem::temp_directory_path() / "weir_after_finalize";
  std::optional<weir::Context> weir{std::in_place, MPI_COMM_WORLD};
  std::optional<weir::File> file = std::move(weir->create(path)).value();
  std::optional<weir::Step> step = std::move(file->declare({{0, 0, 0, 0}})).value();
  const weir::Plan plan = step->plan();
  step->write(0, nullptr, 0).value();
  step->finish().value();
  auto kept = file->declare({{0, 0, 0, 0}});
  MPI_Finalize();

  const char* words = "after MPI_Finalize";
  expect_finalized(step->write(0, nullptr, 0), "write", words);
  expect_finalized(step->start(), "start", words);
  expect_finalized(step->finish(), "finish", words);
  expect_finalized(file->declare({{0, 0, 0, 0}}).status(), "declare", words);
  expect_finalized(file->step(plan).status(), "step", words);
  expect_finalized(file->sync(), "sync", words);
  expect_finalized(file->close(), "close", words);
  expect_finalized(plan.save(path), "save", words);
  expect_finalized(weir->create(path).status(), "create", words);
  expect_finalized(weir->open(path).status(), "open", words);
  expect_finalized(weir->update(path).status(), "update", words);
  expect_finalized(weir->load_plan(path).status(), "load_plan", words);
  expect_finalized(weir::Context::make(MPI_COMM_WORLD).status(), "make", words);
  step.reset();
  file.reset();
  weir.reset();
  return wrong == 0 ? 0 : 1;
}

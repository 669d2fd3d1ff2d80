#include <fmt/format.h>
#include <weir/weir.h>

#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

#include "core/errors.hpp"
#include "engine/file.hpp"

// Handles are made before the call that fills them.
struct weir_context {
  std::optional<weir::Context> value = {};
};
struct weir_step {
  std::optional<weir::Step> value = {};
  std::string text = {};
};
struct weir_file {
  std::optional<weir::File> value = {};
  std::unique_ptr<weir_step> first_step = {};  // of a file that is opened with a plan: its first step is made alone
};
struct weir_plan {
  std::optional<weir::Plan> value = {};
  std::string text = {};
};
struct weir_declaration {
  weir::Declaration value = {};
};
struct weir_drain {
  std::optional<weir::Drain> value = {};
};

static_assert(static_cast<int>(weir::Code::no_space) == WEIR_NO_SPACE);
static_assert(static_cast<int>(weir::Code::no_memory) == WEIR_NO_MEMORY);
static_assert(static_cast<int>(weir::Code::internal) == WEIR_INTERNAL);

namespace {

using weir::Code;
using weir::Status;

thread_local Status last;

struct Argument {
  const char* name;
  const void* pointer;
};
using Arguments = std::initializer_list<Argument>;

Status run(const char* function, Arguments required, const auto& action) noexcept {
  try {
    for (const auto& [name, pointer] : required) {
      if (!pointer) return weir::problem(Code::invalid, fmt::format("{}: '{}' is a null pointer", function, name));
    }
    return action();
  } catch (const weir::Error& error) {
    return error.status();
  } catch (const std::bad_alloc&) {
    return weir::problem(Code::no_memory, "out of memory");
  } catch (const std::exception& error) {
    return weir::problem(Code::internal, error.what());
  } catch (...) {
    return weir::problem(Code::internal, "unknown exception");
  }
}

/// Runs an action that returns a Status when none of the required pointers is null; keeps what it told and returns its
/// code. Nothing is thrown.
int call(const char* function, Arguments required, const auto& action) noexcept {
  last = run(function, required, action);
  return static_cast<int>(last.code());
}

weir::Settings settings_of(const weir_setting* settings) {
  weir::Settings result;
  for (; settings && settings->name; ++settings) result[settings->name] = settings->value ? settings->value : "";
  return result;
}

template <class Handle, class T>
Status hand_over(weir::Result<T> result, std::unique_ptr<Handle> made, Handle** handle) {
  if (!result) return result.status();
  made->value.emplace(*std::move(result));
  *handle = made.release();
  return {};
}

/// Makes a handle and prepares the arguments, then makes the collective call that fills the handle. A rank that has no
/// memory for them makes the call all the same, for all ranks to hear of it.
template <class Handle>
Status collective(weir::Context::Impl& weir, Handle** handle, const auto& prepare, const auto& make) {
  *handle = nullptr;
  std::unique_ptr<Handle> made;
  weir.handicap = weir::attempt("make a handle", [&]() -> Status {
    made = std::make_unique<Handle>();
    prepare(*made);
    return {};
  });
  auto result = make();
  weir.handicap = {};
  return hand_over(std::move(result), std::move(made), handle);
}

/// create, open and update; `make` calls the one that is meant.
Status open_file(weir_context* context, const char* path, const weir_setting* settings, bool planned, weir_file** file,
                 const auto& make) {
  weir::Settings given;
  std::string name;
  const auto prepare = [&](weir_file& made) {
    if (planned) made.first_step = std::make_unique<weir_step>();
    name = path;
    given = settings_of(settings);
  };
  return collective(*context->value->impl(), file, prepare, [&] { return make(*context->value, name, given); });
}

/// Whether all ranks can go on; those that cannot get their own status.
Status same_everywhere(MPI_Comm communicator, const Status& mine) {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (!started || ended || communicator == MPI_COMM_NULL) return mine;
  const int code = static_cast<int>(mine.code());
  int worst = 0;
  MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, communicator);
  if (worst == 0 || !mine.ok()) return mine;
  return weir::problem(static_cast<Code>(worst), "cannot make a context: another rank is out of memory");
}

template <class Handle>
int free_handle(const char* function, Handle** handle) noexcept {
  return call(function, {{"handle", handle}}, [&] {
    delete std::exchange(*handle, nullptr);
    return Status{};
  });
}

}  // namespace

extern "C" {

const char* weir_version() { return weir::version(); }
const char* weir_code_name(int code) { return weir::name(static_cast<Code>(code)); }
const char* weir_last_message() { return last.message().c_str(); }
uint64_t weir_last_bytes() { return last.bytes(); }

int weir_refuse(const char* what) {
  return call("weir_refuse", {{"what", what}}, [&] { return weir::problem(Code::invalid, what); });
}

int weir_context_create(MPI_Comm communicator, const weir_setting* settings, weir_context** context) {
  return call("weir_context_create", {{"context", context}}, [&] {
    *context = nullptr;
    std::unique_ptr<weir_context> made;
    weir::Settings given;
    const Status mine = weir::attempt("make a handle", [&]() -> Status {
      made = std::make_unique<weir_context>();
      given = settings_of(settings);
      return {};
    });
    if (Status status = same_everywhere(communicator, mine); !status) return status;
    return hand_over(weir::Context::make(communicator, given), std::move(made), context);
  });
}

int weir_context_free(weir_context** context) { return free_handle("weir_context_free", context); }

int weir_create(weir_context* context, const char* path, const weir_setting* settings, weir_file** file) {
  return call("weir_create", {{"context", context}, {"path", path}, {"file", file}},
              [&] {
                return open_file(context, path, settings, false, file,
                                 [](auto& weir, auto& name, auto& given) { return weir.create(name, given); });
              });
}

int weir_open(weir_context* context, const char* path, const weir_setting* settings, weir_file** file) {
  return call("weir_open", {{"context", context}, {"path", path}, {"file", file}},
              [&] {
                return open_file(context, path, settings, false, file,
                                 [](auto& weir, auto& name, auto& given) { return weir.open(name, given); });
              });
}

int weir_update(weir_context* context, const char* path, const weir_setting* settings, weir_file** file) {
  return call("weir_update", {{"context", context}, {"path", path}, {"file", file}},
              [&] {
                return open_file(context, path, settings, false, file,
                                 [](auto& weir, auto& name, auto& given) { return weir.update(name, given); });
              });
}

int weir_create_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                        weir_file** file) {
  return call("weir_create_planned", {{"context", context}, {"path", path}, {"plan", plan}, {"file", file}},
              [&] {
                return open_file(context, path, settings, true, file, [&](auto& weir, auto& name, auto& given) {
                  return weir.create(name, *plan->value, given);
                });
              });
}

int weir_open_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                      weir_file** file) {
  return call("weir_open_planned", {{"context", context}, {"path", path}, {"plan", plan}, {"file", file}},
              [&] {
                return open_file(context, path, settings, true, file, [&](auto& weir, auto& name, auto& given) {
                  return weir.open(name, *plan->value, given);
                });
              });
}

int weir_update_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                        weir_file** file) {
  return call("weir_update_planned", {{"context", context}, {"path", path}, {"plan", plan}, {"file", file}},
              [&] {
                return open_file(context, path, settings, true, file, [&](auto& weir, auto& name, auto& given) {
                  return weir.update(name, *plan->value, given);
                });
              });
}

int weir_file_step(weir_file* file, uint64_t shift, weir_step** step) {
  return call("weir_file_step", {{"file", file}, {"step", step}}, [&] {
    *step = nullptr;
    if (file->first_step) return hand_over(file->value->step(shift), std::move(file->first_step), step);
    return collective(*file->value->impl()->context, step, [](weir_step&) {}, [&] { return file->value->step(shift); });
  });
}

int weir_sync(weir_file* file) {
  return call("weir_sync", {{"file", file}}, [&] { return file->value->sync(); });
}

int weir_close(weir_file** file) {
  return call("weir_close", {{"file", file}, {"*file", file ? *file : nullptr}}, [&] {
    const std::unique_ptr<weir_file> closing{std::exchange(*file, nullptr)};
    return closing->value->close();
  });
}

int weir_close_step(weir_file** file, weir_step* step) {
  return call("weir_close_step", {{"file", file}, {"*file", file ? *file : nullptr}, {"step", step}}, [&] {
    const std::unique_ptr<weir_file> closing{std::exchange(*file, nullptr)};
    return closing->value->close(*step->value);
  });
}

int weir_drain_start(weir_context* context, const char* path, const weir_setting* settings, weir_drain** drain) {
  return call("weir_drain_start", {{"context", context}, {"path", path}, {"drain", drain}}, [&] {
    weir::Settings given;
    std::string name;
    const auto prepare = [&](weir_drain&) {
      name = path;
      given = settings_of(settings);
    };
    return collective(*context->value->impl(), drain, prepare, [&] { return context->value->drain(name, given); });
  });
}

int weir_drain_progress(const weir_drain* drain, uint64_t* done, uint64_t* total) {
  return call("weir_drain_progress", {{"drain", drain}, {"done", done}, {"total", total}}, [&] {
    const weir::Drain::Progress now = drain->value->progress();
    *done = now.done;
    *total = now.total;
    return Status{};
  });
}

int weir_drain_wait(weir_drain** drain) {
  return call("weir_drain_wait", {{"drain", drain}, {"*drain", drain ? *drain : nullptr}}, [&] {
    const std::unique_ptr<weir_drain> ending{std::exchange(*drain, nullptr)};
    return ending->value->wait();
  });
}

int weir_declaration_new(weir_declaration** declaration) {
  return call("weir_declaration_new", {{"declaration", declaration}}, [&] {
    *declaration = new weir_declaration;
    return Status{};
  });
}

int weir_declaration_free(weir_declaration** declaration) { return free_handle("weir_declaration_free", declaration); }

int weir_declaration_runs(weir_declaration* declaration, size_t count, const weir_run* runs, int* decomposition) {
  const void* needed = count == 0 ? static_cast<const void*>(&count) : runs;
  return call("weir_declaration_runs",
              {{"declaration", declaration}, {"runs", needed}, {"decomposition", decomposition}}, [&] {
                std::vector<weir::Run> list;
                list.reserve(count);
                for (size_t i = 0; i < count; ++i) {
                  list.push_back({runs[i].offset, runs[i].length, runs[i].stride, runs[i].count});
                }
                *decomposition = declaration->value.decomposition(std::move(list));
                return Status{};
              });
}

int weir_declaration_box(weir_declaration* declaration, int dimensions, const uint64_t* array, const uint64_t* start,
                         const uint64_t* size, uint64_t element, uint64_t at, int* decomposition) {
  return call("weir_declaration_box",
              {{"declaration", declaration},
               {"array", array},
               {"start", start},
               {"size", size},
               {"decomposition", decomposition}},
              [&] {
                if (dimensions < 1) {
                  return weir::problem(Code::invalid, fmt::format("cannot declare a box of {} dimensions", dimensions),
                                       "give at least 1");
                }
                *decomposition = declaration->value.decomposition(weir::Box{.array = {array, array + dimensions},
                                                                            .start = {start, start + dimensions},
                                                                            .size = {size, size + dimensions},
                                                                            .element = element,
                                                                            .at = at});
                return Status{};
              });
}

int weir_declaration_variable(weir_declaration* declaration, int decomposition, uint64_t at, int* variable) {
  return call("weir_declaration_variable", {{"declaration", declaration}, {"variable", variable}}, [&] {
    *variable = declaration->value.variable(decomposition, at);
    return Status{};
  });
}

int weir_declare(weir_file* file, const weir_declaration* declaration, weir_step** step) {
  return call("weir_declare", {{"file", file}, {"declaration", declaration}, {"step", step}},
              [&] {
                return collective(*file->value->impl()->context, step, [](weir_step&) {},
                                  [&] { return file->value->declare(declaration->value); });
              });
}

int weir_write(weir_step* step, int variable, const void* data, uint64_t bytes) {
  return call("weir_write", {{"step", step}}, [&] { return step->value->write(variable, data, bytes); });
}

int weir_read(weir_step* step, int variable, void* data, uint64_t bytes) {
  return call("weir_read", {{"step", step}}, [&] { return step->value->read(variable, data, bytes); });
}

int weir_finish(weir_step* step) {
  return call("weir_finish", {{"step", step}}, [&] { return step->value->finish(); });
}

int weir_start(weir_step* step) {
  return call("weir_start", {{"step", step}}, [&] { return step->value->start(); });
}

int weir_absorb(weir_step* step) {
  return call("weir_absorb", {{"step", step}}, [&] { return step->value->absorb(); });
}

int weir_test(weir_step* step, int* done) {
  return call("weir_test", {{"step", step}, {"done", done}}, [&] {
    *done = step->value->test() ? 1 : 0;
    return Status{};
  });
}

int weir_wait(weir_step* step) {
  return call("weir_wait", {{"step", step}}, [&] { return step->value->wait(); });
}

int weir_explain(weir_step* step, const char** text) {
  return call("weir_explain", {{"step", step}, {"text", text}}, [&] {
    step->text = step->value->explain();
    *text = step->text.c_str();
    return Status{};
  });
}

int weir_report(const weir_step* step, weir_step_report* report) {
  return call("weir_report", {{"step", step}, {"report", report}}, [&] {
    const weir::Report from = step->value->report();
    *report = {.bytes = from.bytes,
               .stored_bytes = from.stored_bytes,
               .stored_while_aggregating = from.stored_while_aggregating,
               .buffer_bytes = from.buffer_bytes,
               .list_bytes = from.list_bytes,
               .remote_bytes = from.remote_bytes,
               .storage_calls = from.storage_calls,
               .messages = from.messages,
               .plan_s = from.plan_s,
               .copy_s = from.copy_s,
               .storage_s = from.storage_s,
               .wait_s = from.wait_s,
               .meeting_s = from.meeting_s,
               .leaving_s = from.leaving_s};
    return Status{};
  });
}

int weir_step_free(weir_step** step) { return free_handle("weir_step_free", step); }

int weir_step_plan(const weir_step* step, weir_plan** plan) {
  return call("weir_step_plan", {{"step", step}, {"plan", plan}}, [&] {
    *plan = new weir_plan{step->value->plan()};
    return Status{};
  });
}

int weir_plan_step(weir_file* file, const weir_plan* plan, uint64_t shift, weir_step** step) {
  return call("weir_plan_step", {{"file", file}, {"plan", plan}, {"step", step}},
              [&] {
                return collective(*file->value->impl()->context, step, [](weir_step&) {},
                                  [&] { return file->value->step(*plan->value, shift); });
              });
}

int weir_plan_hash(const weir_plan* plan, uint64_t* hash) {
  return call("weir_plan_hash", {{"plan", plan}, {"hash", hash}}, [&] {
    *hash = plan->value->hash();
    return Status{};
  });
}

int weir_plan_text(weir_plan* plan, const char** text) {
  return call("weir_plan_text", {{"plan", plan}, {"text", text}}, [&] {
    plan->text = plan->value->text();
    *text = plan->text.c_str();
    return Status{};
  });
}

int weir_plan_explain(weir_plan* plan, const char** text) {
  return call("weir_plan_explain", {{"plan", plan}, {"text", text}}, [&] {
    plan->text = plan->value->explain();
    *text = plan->text.c_str();
    return Status{};
  });
}

int weir_plan_save(const weir_plan* plan, const char* path) {
  return call("weir_plan_save", {{"plan", plan}, {"path", path}}, [&] {
    std::string name;
    const Status mine = weir::attempt("save a plan", [&] { return name = path, Status{}; });
    return weir::save_plan(*plan->value->impl(), name, mine);
  });
}

int weir_load_plan(weir_context* context, const char* path, weir_plan** plan) {
  return call("weir_load_plan", {{"context", context}, {"path", path}, {"plan", plan}},
              [&] {
                std::string name;
                return collective(*context->value->impl(), plan, [&](weir_plan&) { name = path; },
                                  [&] { return context->value->load_plan(name); });
              });
}

int weir_plan_free(weir_plan** plan) { return free_handle("weir_plan_free", plan); }

}  // extern "C"

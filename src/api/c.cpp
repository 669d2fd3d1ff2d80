#include <fmt/format.h>
#include <weir/weir.h>

#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

#include "core/errors.hpp"

struct weir_context {
  weir::Context value;
};
struct weir_file {
  weir::File value;
};
struct weir_step {
  weir::Step value;
  std::string text = {};
};
struct weir_plan {
  weir::Plan value;
  std::string text = {};
};
struct weir_declaration {
  weir::Declaration value = {};
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
Status hand_over(weir::Result<T> result, Handle** handle) {
  *handle = nullptr;
  if (!result) return result.status();
  *handle = new Handle{*std::move(result)};
  return {};
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
  return call("weir_context_create", {{"context", context}},
              [&] { return hand_over(weir::Context::make(communicator, settings_of(settings)), context); });
}

int weir_context_free(weir_context** context) { return free_handle("weir_context_free", context); }

int weir_create(weir_context* context, const char* path, const weir_setting* settings, weir_file** file) {
  return call("weir_create", {{"context", context}, {"path", path}, {"file", file}},
              [&] { return hand_over(context->value.create(path, settings_of(settings)), file); });
}

int weir_open(weir_context* context, const char* path, const weir_setting* settings, weir_file** file) {
  return call("weir_open", {{"context", context}, {"path", path}, {"file", file}},
              [&] { return hand_over(context->value.open(path, settings_of(settings)), file); });
}

int weir_update(weir_context* context, const char* path, const weir_setting* settings, weir_file** file) {
  return call("weir_update", {{"context", context}, {"path", path}, {"file", file}},
              [&] { return hand_over(context->value.update(path, settings_of(settings)), file); });
}

int weir_create_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                        weir_file** file) {
  return call("weir_create_planned", {{"context", context}, {"path", path}, {"plan", plan}, {"file", file}},
              [&] { return hand_over(context->value.create(path, plan->value, settings_of(settings)), file); });
}

int weir_open_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                      weir_file** file) {
  return call("weir_open_planned", {{"context", context}, {"path", path}, {"plan", plan}, {"file", file}},
              [&] { return hand_over(context->value.open(path, plan->value, settings_of(settings)), file); });
}

int weir_update_planned(weir_context* context, const char* path, const weir_plan* plan, const weir_setting* settings,
                        weir_file** file) {
  return call("weir_update_planned", {{"context", context}, {"path", path}, {"plan", plan}, {"file", file}},
              [&] { return hand_over(context->value.update(path, plan->value, settings_of(settings)), file); });
}

int weir_file_step(weir_file* file, uint64_t shift, weir_step** step) {
  return call("weir_file_step", {{"file", file}, {"step", step}},
              [&] { return hand_over(file->value.step(shift), step); });
}

int weir_sync(weir_file* file) {
  return call("weir_sync", {{"file", file}}, [&] { return file->value.sync(); });
}

int weir_close(weir_file** file) {
  return call("weir_close", {{"file", file}, {"*file", file ? *file : nullptr}}, [&] {
    const std::unique_ptr<weir_file> closing{std::exchange(*file, nullptr)};
    return closing->value.close();
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
              [&] { return hand_over(file->value.declare(declaration->value), step); });
}

int weir_write(weir_step* step, int variable, const void* data, uint64_t bytes) {
  return call("weir_write", {{"step", step}}, [&] { return step->value.write(variable, data, bytes); });
}

int weir_read(weir_step* step, int variable, void* data, uint64_t bytes) {
  return call("weir_read", {{"step", step}}, [&] { return step->value.read(variable, data, bytes); });
}

int weir_finish(weir_step* step) {
  return call("weir_finish", {{"step", step}}, [&] { return step->value.finish(); });
}

int weir_start(weir_step* step) {
  return call("weir_start", {{"step", step}}, [&] { return step->value.start(); });
}

int weir_test(weir_step* step, int* done) {
  return call("weir_test", {{"step", step}, {"done", done}}, [&] {
    *done = step->value.test() ? 1 : 0;
    return Status{};
  });
}

int weir_wait(weir_step* step) {
  return call("weir_wait", {{"step", step}}, [&] { return step->value.wait(); });
}

int weir_explain(weir_step* step, const char** text) {
  return call("weir_explain", {{"step", step}, {"text", text}}, [&] {
    step->text = step->value.explain();
    *text = step->text.c_str();
    return Status{};
  });
}

int weir_report(const weir_step* step, weir_step_report* report) {
  return call("weir_report", {{"step", step}, {"report", report}}, [&] {
    const weir::Report from = step->value.report();
    *report = {.bytes = from.bytes,
               .stored_bytes = from.stored_bytes,
               .stored_while_aggregating = from.stored_while_aggregating,
               .buffer_bytes = from.buffer_bytes,
               .list_bytes = from.list_bytes,
               .storage_calls = from.storage_calls,
               .messages = from.messages,
               .plan_s = from.plan_s,
               .copy_s = from.copy_s,
               .storage_s = from.storage_s,
               .wait_s = from.wait_s};
    return Status{};
  });
}

int weir_step_free(weir_step** step) { return free_handle("weir_step_free", step); }

int weir_step_plan(const weir_step* step, weir_plan** plan) {
  return call("weir_step_plan", {{"step", step}, {"plan", plan}}, [&] {
    *plan = new weir_plan{step->value.plan()};
    return Status{};
  });
}

int weir_plan_step(weir_file* file, const weir_plan* plan, uint64_t shift, weir_step** step) {
  return call("weir_plan_step", {{"file", file}, {"plan", plan}, {"step", step}},
              [&] { return hand_over(file->value.step(plan->value, shift), step); });
}

int weir_plan_hash(const weir_plan* plan, uint64_t* hash) {
  return call("weir_plan_hash", {{"plan", plan}, {"hash", hash}}, [&] {
    *hash = plan->value.hash();
    return Status{};
  });
}

int weir_plan_text(weir_plan* plan, const char** text) {
  return call("weir_plan_text", {{"plan", plan}, {"text", text}}, [&] {
    plan->text = plan->value.text();
    *text = plan->text.c_str();
    return Status{};
  });
}

int weir_plan_explain(weir_plan* plan, const char** text) {
  return call("weir_plan_explain", {{"plan", plan}, {"text", text}}, [&] {
    plan->text = plan->value.explain();
    *text = plan->text.c_str();
    return Status{};
  });
}

int weir_plan_save(const weir_plan* plan, const char* path) {
  return call("weir_plan_save", {{"plan", plan}, {"path", path}}, [&] { return plan->value.save(path); });
}

int weir_load_plan(weir_context* context, const char* path, weir_plan** plan) {
  return call("weir_load_plan", {{"context", context}, {"path", path}, {"plan", plan}},
              [&] { return hand_over(context->value.load_plan(path), plan); });
}

int weir_plan_free(weir_plan** plan) { return free_handle("weir_plan_free", plan); }

}  // extern "C"

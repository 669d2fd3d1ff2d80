#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "core/errors.hpp"
#include "engine/file.hpp"
#include "engine/step.hpp"
#include "storage/storage_problem.hpp"

namespace weir {

Status File::Impl::sync() {
  if (Status status = check_open("sync"); !status.ok()) return status;
  if (absorbed)
    if (Status status = absorbed->wait(); !status.ok()) return status;
  context->drain();
  Status mine;
  if (storage_ && mode != OpenMode::read)
    if (const int error = storage_->sync()) mine = storage_problem(error, "sync", path);
  if (mine.ok() && context->team->rank() == 0 && opening_.ok())
    mine = attempt("sync a directory", [&] { return settings->system->sync_directory(work); });
  Outcome outcome;
  outcome.fail(mine, context->team->rank());
  return agreed(agree(outcome, Call::sync));
}

Status File::Impl::close() {
  if (Status status = check_mpi(); !status.ok()) return status;
  if (!closed && context->team->broken()) {
    closed = true;
    abandon();
  }
  if (Status status = check_open("close"); !status.ok()) return status;
  if (absorbed) (void)absorbed->wait();  // its failure is told below
  context->drain();
  return close_together(context->enter(Call::close, serial), nullptr);
}

Status File::Impl::close(Step::Impl& last) {
  if (last.file() != this)
    return problem(Code::invalid, [&] {
      return fmt::format("cannot close '{}': the step belongs to another file", path);
    }, "pass a step of this file");
  if (mode == OpenMode::read || set_ || last.remote()) {
    const Status finished = absorbed == &last ? Status{} : last.start();
    const Status status = finished.ok() ? last.wait() : finished;
    const Status ended = close();
    return status.ok() && !ended.ok() ? ended : status;
  }
  if (Status status = last.start_for_close(); !status.ok()) return status;
  if (last.over()) return close();  // the ranks went different ways
  return close_together(last.outcome(), &last);
}

Status File::Impl::close_together(Outcome outcome, Step::Impl* last) {
  Context::Impl& weir = *context;
  closed = true;
  const bool durable = mode != OpenMode::read && settings->durable;
  outcome.fail(opening_, weir.team->rank());
  if (set_ && set_->writes()) outcome.fail(get() ? set_->seal(*storage_) : open_error_, weir.team->rank());
  const auto note = [&](int error, const char* action) {
    if (error != 0 && mode != OpenMode::read) outcome.fail(storage_problem(error, action, path), weir.team->rank());
  };
  if (durable && storage_) note(storage_->sync(), "sync");
  if (storage_) note(storage_->close(), "close");
  storage_.reset();
  if (failed_steps > 0 && mode != OpenMode::read)
    outcome.fail(problem(failed_code, [&] {
      return fmt::format("cannot close '{}' as a whole file: {} of its steps failed", path, failed_steps);
    }, replaces() ? "what was there before is untouched" : "its contents are not complete"), weir.team->rank());
  Status status;
  if (mode != OpenMode::read || !confirmed_) {
    if (set_ && mode != OpenMode::read) {
      const Status collected = set_->collect(outcome, durable);
      if (collected.code() == Code::mismatch && weir.team->result().other_call != 0) return closed = false, collected;
      outcome.fail(collected, weir.team->rank());
    }
    const auto install_here = [&](Outcome& all) {
      if (all.other_call == 0) all.fail(install(all.code == 0, durable), 0);
    };
    status = agreed(set_ && set_->writes() && set_->on_nodes() ? set_->install_on_nodes(outcome, durable)
                                                                : weir.team->agree_then(outcome, install_here));
    if (last) last->conclude();
    if (weir.team->result().other_call != 0 && !weir.team->broken()) {
      closed = false;  // the others have not closed it: that can still be done together
      return status;
    }
    if (set_) weir.team->trim();
    confirm();
  }
  for (Arena* arena : arenas) arena->give_back();
  return status;
}

Status File::Impl::install(bool complete, bool durable) noexcept {
  StorageSystem& system = *settings->system;
  bool installed = false;
  const Status status = attempt("install a file", [&]() -> Status {
    if (!complete) return {};
    if (set_) {
      if (Status appeared = set_->install(work, target, durable); !appeared.ok()) return appeared;
    } else if (replaces()) {
      std::optional<OldSet> old;
      if (there_before_) old.emplace(system, target);
      if (Status renamed = system.rename(work, target); !renamed.ok()) return renamed;
      if (old) old->remove(system);
    }
    installed = true;
    return durable ? system.sync_directory(target) : Status{};
  });
  if (installed) return status;
  if (set_) set_->discard(true);
  if (replaces()) remove_work();
  return status;
}

void File::Impl::remove_work() noexcept {
  (void)attempt("remove a file", [&] { return settings->system->remove(work); });
}

void File::Impl::abandon() noexcept {
  confirm();
  if (mode == OpenMode::read) return;
  std::fprintf(stderr, "weir: '%s' was not closed, so %s\n", path.c_str(),
               replaces() ? "it is not there; what was there before is untouched" : "it may not be complete");
  storage_.reset();
  if (set_) return set_->discard(false);
  if (replaces() && context->team->rank() == 0) remove_work();
}

File::Impl::~Impl() {
  if (closed) return;
  if (std::uncaught_exceptions() > 0 || !check_mpi().ok()) {
    abandon();
    return;
  }
  if (const Status status = close(); !status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
}

}  // namespace weir

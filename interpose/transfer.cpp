#include "transfer.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>

#include "core/errors.hpp"
#include "engine/planning.hpp"
#include "errors.hpp"
#include "handed.hpp"
#include "storage/storage_problem.hpp"
#include "storage/transfer.hpp"

namespace weir::interpose {

namespace {

double now() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void set_bytes(MPI_Status* status, std::uint64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes));
  PMPI_Status_set_cancelled(status, 0);
}

}  // namespace

Transfer::Transfer(OpenFile& file, const Access& access) noexcept : file_{file}, way_{access.way}, call_{access.call} {
  const double start = now();
  mine_ = attempt("access a file", [&] { return prepare(access); });
  if (!mine_.ok()) {
    moved_ = 0;
    if (own_code_ == MPI_SUCCESS) own_code_ = error_code(mine_);
  }
  pack_s_ = now() - start;
}

Status Transfer::prepare(const Access& access) try {
  const auto wrong = [&](int code, const char* what) {
    own_code_ = code;
    return problem(Code::invalid, [&] { return "cannot access '" + file_.path + "': " + what; });
  };
  if (access.count < 0) return wrong(MPI_ERR_COUNT, "the count is negative");
  if (access.type == MPI_DATATYPE_NULL) return wrong(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  if (access.position < 0) return wrong(MPI_ERR_ARG, "the offset is negative");
  if (const std::string& unusable = file_.view.problem(); !unusable.empty())
    return wrong(MPI_ERR_UNSUPPORTED_OPERATION, unusable.c_str());
  memory_ = Memory{access.buffer, static_cast<std::uint64_t>(access.count), access.type};
  if (memory_.bytes() == 0) return {};
  const View& view = file_.view.pieces();
  if (view.empty() || memory_.bytes() % view.element() != 0)
    return wrong(MPI_ERR_IO, "its datatype is not a whole number of the view's elementary types");
  before_ = static_cast<std::uint64_t>(access.position) * view.element();
  moved_ = memory_.bytes();
  pieces_ = few_pieces();
  if (way_ == Way::write) memory_.pack();
  return {};
} catch (const std::invalid_argument& reason) {
  return problem(Code::unsupported, [&] { return "cannot access '" + file_.path + "': " + reason.what(); });
}

MPI_Offset Transfer::elements() const noexcept {
  return mine_.ok() ? static_cast<MPI_Offset>(memory_.bytes() / file_.view.pieces().element()) : 0;
}

Result<Step> Transfer::next_step(File& file) {
  const View& view = file_.view.pieces();
  const std::uint64_t bytes = done_ ? 0 : moved_;
  Patterns::Part part{&view, before_, bytes, {0, 0}, mine_};
  if (bytes > 0) part.pattern = view.pattern(before_, bytes);
  // What lies where in a set is its own.
  const std::uint64_t serial = file_.form == Form::set ? file.impl()->serial : 0;
  const std::array<std::uint64_t, 5> all{part.pattern.hash, file_.circumstances, static_cast<std::uint64_t>(way_),
                                         static_cast<std::uint64_t>(file_.form), serial};
  part.pattern.hash = XXH3_64bits(all.data(), sizeof all);
  bool scattered = bytes > 0 && pieces_.empty();
  const bool can_send = !beside_ || file_.mpi_in_threads;
  const MPI_Comm communicator = can_send ? file_.company->communicator : MPI_COMM_NULL;
  auto step = file_.company->patterns.step(file, communicator, part, scattered);
  file_.goes_alone = file_.may_go_alone && step && !scattered;
  return step;
}

Status Transfer::give() {
  std::byte* data = memory_.data();
  int variable = 0;
  for (const std::uint64_t bytes : step_->plan().impl()->plan.variable_bytes) {
    const Status given = way_ == Way::write ? step_->write(variable, data, bytes) : step_->read(variable, data, bytes);
    if (!given.ok()) return given;
    ++variable;
    data += bytes;
  }
  return {};
}

Status Transfer::make_step(File& file) {
  auto step = next_step(file);
  // Plans of ever larger buffers use up what a file may have: then all ranks open it anew, and it has none.
  const bool used_up = step.status().code() == Code::too_many_files || step.status().code() == Code::no_memory;
  if (used_up && file_.form != Form::new_set) {
    if (Status closed = file_.close(); !closed.ok()) return closed;
    if (auto again = file_.open_weir(way_)) step = next_step(**again);
  }
  if (!step) return step.status();
  step_ = std::move(*step);
  return give();
}

std::vector<Extent> Transfer::few_pieces() const {
  constexpr std::uint64_t most = 32;
  std::vector<Extent> pieces = file_.view.pieces().few_pieces(before_, moved_, most);
  const bool simple = way_ == Way::write ? moved_ <= Team::most_handed : file_.local;
  if (pieces.size() > 1 && !simple) pieces.clear();
  return pieces;
}

Status Transfer::move_pieces() {
  std::uint64_t moved = 0;
  for (const Extent& piece : pieces_) {
    Io io{way_ == Way::write ? Io::Kind::write : Io::Kind::read, memory_.data() + moved, piece.offset, piece.length};
    transfer(io, nullptr, [&](std::byte* data, std::uint64_t at, std::uint64_t length) -> std::int64_t {
      const ssize_t now = way_ == Way::write ? ::pwrite(file_.descriptor, data, length, static_cast<off_t>(at))
                                             : ::pread(file_.descriptor, data, length, static_cast<off_t>(at));
      return now < 0 ? -errno : now;
    });
    if (io.error) return storage_problem(io.error, way_ == Way::write ? "write" : "read", file_.path);
    moved += io.done;
    if (io.done < piece.length) break;  // the end of the file
  }
  moved_ = moved;
  return {};
}

bool Transfer::go_alone() {
  constexpr std::uint64_t flag_scattered = 1;
  auto context = file_.company->weir();
  if (!context) return false;
  if (!file_.company->is_on_one_node()) {
    file_.may_go_alone = file_.goes_alone = false;
    return false;
  }
  Context::Impl& weir = *(*context)->impl();
  Team& team = *weir.team;
  done_ = mine_.ok() && (moved_ == 0 || !pieces_.empty());
  const Status status = attempt("access a file", [&] {
    const bool handed = way_ == Way::write && team.size() > 1 && team.hand_over({pieces_, {memory_.data(), moved_}});
    return handed || pieces_.empty() ? mine_ : move_pieces();
  });
  Outcome outcome = weir.begin(Call::step, 0);
  if (!done_) outcome.flags |= flag_scattered;
  outcome.fail(status, team.rank());
  const Outcome& all = team.agree_then_last(outcome, [&](Outcome& sum) {
    if (way_ == Way::write && !sum.failed())
      sum.fail(attempt("access a file", [&] { return store_handed(team, file_.descriptor, file_.path); }), team.rank());
  });
  outcome_ = agreed(all);
  if (!outcome_.ok()) return true;
  file_.goes_alone = (all.flags & flag_scattered) == 0;
  return file_.goes_alone;
}

bool Transfer::begin() {
  const double start = now();
  if (file_.goes_alone && go_alone()) {
    seconds_ += now() - start;
    return true;
  }
  auto file = file_.open_weir(way_);
  if (!file && !beside_ && file_.form == Form::file) {
    file_.refuse(file.status().message());
    return false;
  }
  outcome_ = file ? make_step(**file) : file.status();
  seconds_ += now() - start;
  return true;
}

void Transfer::start() {
  const double start = now();
  if (step_)
    if (Status started = step_->start(); !started.ok()) outcome_ = started;
  seconds_ += now() - start;
}

Status Transfer::read_to_end() {
  struct stat now {};
  mine_ = ::stat(file_.path.c_str(), &now) == 0 ? Status{} : storage_problem(errno, "find the size of", file_.path);
  const auto end = file_.form == Form::set ? file_.set_bytes : static_cast<std::uint64_t>(now.st_size);
  if (!done_) moved_ = file_.view.pieces().bytes_before(before_, moved_, end);
  step_.reset();
  if (Status made = make_step(*file_.reader); !step_) return made;
  return step_->finish();
}

std::optional<int> Transfer::move_alone(MPI_Status* status) {
  const double start = now();
  if (!mine_.ok() || (moved_ > 0 && pieces_.empty())) return std::nullopt;
  if (const Status moved = move_pieces(); !moved.ok()) return file_.fail(moved);
  if (way_ == Way::read) memory_.unpack(moved_);
  set_bytes(status, moved_);
  file_.tally.moved(call_, moved_, now() - start + pack_s_, pack_s_);
  return MPI_SUCCESS;
}

void Transfer::complete() {
  const double start = now();
  if (step_) {
    const Status waited = step_->wait();
    if (outcome_.ok()) outcome_ = waited;
  }
  if (way_ == Way::read && outcome_.code() == Code::end_of_file) outcome_ = read_to_end();
  if (outcome_.ok() && way_ == Way::read) memory_.unpack(moved_);
  seconds_ += now() - start;
}

int Transfer::conclude(MPI_Status* status) {
  if (!outcome_.ok()) {
    set_bytes(status, 0);
    return own_code_ != MPI_SUCCESS ? file_.fail(own_code_) : file_.fail(outcome_);
  }
  set_bytes(status, moved_);
  if (step_)
    file_.tally.taken(call_, *step_, seconds_ + pack_s_, pack_s_);
  else
    file_.tally.moved(call_, moved_, seconds_ + pack_s_, pack_s_);
  return MPI_SUCCESS;
}

void Transfer::run() noexcept {
  beside_ = true;
  const Status status = attempt("access a file", [&]() -> Status {
    begin();
    start();
    complete();
    return {};
  });
  if (!status.ok()) outcome_ = status;
}

}  // namespace weir::interpose

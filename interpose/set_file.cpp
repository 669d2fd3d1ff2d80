#include "set_file.hpp"

#include <unistd.h>

#include <cerrno>

#include "background.hpp"
#include "core/errors.hpp"
#include "engine/file_set.hpp"
#include "errors.hpp"
#include "storage/posix_storage.hpp"
#include "storage/storage_problem.hpp"

namespace weir::interpose {

bool is_set(const std::string& path) noexcept { return FileSet::is_at(path); }

void remove_sub_files(const std::string& path) noexcept {
  if (!is_set(path)) return;
  PosixStorageSystem system;
  OldSet{system, path}.remove(system);
}

Status not_in_a_set(const OpenFile& file, const char* reason) {
  return problem(Code::unsupported,
                 "cannot do this with '" + file.path + "', a set of sub-files" +
                     (reason ? std::string{": "} + reason : std::string{}),
                 "have it written with plan.files shared");
}

namespace {

constexpr const char* being_written = "it is being written";

/// What was written becomes a set that can be read. Collective.
Status complete(OpenFile& file) {
  if (Status closed = file.close(); !closed.ok()) return closed;
  file.form = Form::set;
  return measure_set(file);
}

/// This rank's own view of a set that is complete, for what it reads without the others.
OpenFile& own_reader(OpenFile& file) {
  if (!file.own_reader) {
    file.own_reader = std::make_unique<OpenFile>();
    OpenFile& own = *file.own_reader;
    own.handle = file.handle;  // whose error handler is called
    own.path = file.path;
    own.settings = file.settings;
    own.mode = MPI_MODE_RDONLY;
    own.form = Form::set;
    own.set_bytes = file.set_bytes;
    std::uint64_t flags = 0;
    own.company = Company::take(MPI_COMM_SELF, flags);
    file.own_reader_sees = false;
  }
  if (!file.own_reader_sees) {
    file.own_reader->settle();
    file.own_reader->view.show(file.view);
    file.own_reader_sees = true;
  }
  return *file.own_reader;
}

/// Why this rank cannot read, or write, without the others.
Status check_alone(const OpenFile& file, Way way) {
  if (const char* reason = file.why_pass(way)) return not_in_a_set(file, reason);
  if (way == Way::write) return not_in_a_set(file, "ranks can only write it together");
  return file.form == Form::set ? Status{} : not_in_a_set(file, being_written);
}

}  // namespace

Result<File> open_in_set(OpenFile& file, Context& context, Way way) {
  if (way == Way::read) {
    if (file.form == Form::new_set && file.writer)
      if (Status status = complete(file); !status.ok()) return status;
    return context.open(file.path, file.settings);
  }
  if (file.form == Form::set) return not_in_a_set(file, "it is complete; set its size to 0 to write it anew");
  if (file.reader) {  // of what was empty
    if (Status status = file.reader->close(); !status.ok()) return status;
    file.reader.reset();
  }
  return context.create(file.path, file.settings);
}

Status measure_set(OpenFile& file) {
  auto context = file.company->weir();
  if (!context) return context.status();
  Status status;
  std::uint64_t end = 0;
  if (file.company->rank() == 0)
    status = attempt("open a set", [&]() -> Status {
      auto content = FileSet::load(*(*context)->impl()->file_settings->system, file.path);
      if (!content) return content.status();
      auto index = SetIndex::decoded(*content, file.path);
      if (!index) return index.status();
      for (const Extent& extent : SetLookup{std::move(*index)}.reach()) end = std::max(end, extent.end());
      return {};
    });
  PMPI_Bcast(&end, 1, MPI_UINT64_T, 0, file.company->communicator);
  file.set_bytes = end;
  return file.company->agree(status);
}

Status set_size_of_set(OpenFile& file, MPI_Offset size) {
  const bool empty = file.form == Form::new_set && !file.writer;
  if (file.mode & MPI_MODE_RDONLY) return storage_problem(EROFS, "change the size of", file.path);
  if (size != 0) return not_in_a_set(file, "its size comes from what is written");
  if (empty) return {};
  if (file.form == Form::new_set) return not_in_a_set(file, being_written);
  close_own_reader(file);
  if (Status closed = file.close(); !closed.ok()) return closed;
  const Status emptied = file.company->when_all_are_here([&]() -> Status {
    remove_sub_files(file.path);
    return ::truncate(file.path.c_str(), 0) == 0 ? Status{} : storage_problem(errno, "change the size of", file.path);
  });
  if (emptied.ok()) file.form = Form::new_set;
  return emptied;
}

void close_own_reader(OpenFile& file) {
  if (!file.own_reader) return;
  file.own_reader->settle();
  complete_background();
  (void)file.own_reader->close();
  file.own_reader->company->taken = false;
  file.own_reader.reset();
}

int alone_in_set(OpenFile& file, const MPI_Offset* at, Access access, MPI_Status* status) {
  if (const Status wrong = check_alone(file, access.way); !wrong.ok()) return file.fail(wrong);
  OpenFile& own = own_reader(file);
  own.settle();
  access.position = at ? *at : file.position;
  Transfer transfer{own, access};
  transfer.begin();
  transfer.start();
  if (!at) file.position += transfer.elements();
  return transfer.finish(status);
}

int begin_alone_in_set(OpenFile& file, const MPI_Offset* at, Access access, MPI_Request* request) {
  if (const Status wrong = check_alone(file, access.way); !wrong.ok()) return file.fail(wrong);
  OpenFile& own = own_reader(file);
  if (auto context = own.company->weir(); !context) return file.fail(context.status());
  access.position = at ? *at : file.position;
  auto transfer = std::make_unique<Transfer>(own, access);
  if (!at) file.position += transfer->elements();
  return begin_in_background(own, std::move(transfer), request);
}

int begin_in_set(OpenFile& file, const MPI_Offset* at, Access access, MPI_Request* request) {
  if (access.way == Way::read) return begin_alone_in_set(file, at, access, request);
  if (!file.can_go_on_beside()) return file.fail(not_in_a_set(file, "here its writes must be blocking"));
  access.position = at ? *at : file.position;
  auto transfer = std::make_unique<Transfer>(file, access);
  if (!at) file.position += transfer->elements();
  return begin_in_background(file, std::move(transfer), request);
}

}  // namespace weir::interpose

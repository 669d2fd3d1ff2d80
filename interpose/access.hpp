#pragma once

#include <memory>

#include "background.hpp"
#include "policy.hpp"
#include "real.hpp"
#include "set_file.hpp"
#include "transfer.hpp"

/// What the entry points do. `passing` calls the MPI library with the arguments of the program; where a handle is taken
/// by reference, it is the one that `passing` uses.
namespace weir::interpose {

/// Calls the MPI library with its own file pointer where ours is, and takes ours from it afterwards.
template <class Passing>
int at_pointer(OpenFile& file, MPI_File handle, Passing&& passing) {
  if (!file.refusal.empty()) return passing();
  pass(real().seek, handle, file.position, MPI_SEEK_SET);
  const int code = passing();
  pass(real().get_position, handle, &file.position);
  return code;
}

enum class Pointer { none, individual };

/// What the MPI library does with all ranks, through a handle of its own. Collective.
template <class Passing>
int by_library(OpenFile& file, MPI_File& handle, Pointer pointer, Passing&& passing, const char* reason = nullptr) {
  if (file.form != Form::file) return file.fail(not_in_a_set(file, reason));
  file.settle();
  int code = file.open_library();
  if (code == MPI_SUCCESS) {
    handle = file.library;
    code = pointer == Pointer::individual ? at_pointer(file, handle, passing) : passing();
    if (handle == file.handle) return code;  // its handler has been called
  }
  return code == MPI_SUCCESS ? code : file.fail(code);
}

/// Whether it can be a view at all, in the native representation; what is wrong with it is left to the MPI library to
/// tell.
bool is_native(const char* representation) noexcept;
bool is_native_view(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type, const char* representation);
/// The error of an access that needs a view that the MPI library does not know of.
Status untold_view(const OpenFile& file);

/// What this rank does alone, carried out by the MPI library.
template <class Passing>
int alone(MPI_File& handle, const char* call, Pointer pointer, const char* reason, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (file->form != Form::file) return file->fail(not_in_a_set(*file, nullptr));
  file->tally.passed(call, file->refusal.empty() ? reason : file->refusal.c_str());
  if (const int code = file->alone(handle); code != MPI_SUCCESS) return file->fail(code);
  const int code = pointer == Pointer::individual ? at_pointer(*file, handle, passing) : passing();
  return code == MPI_SUCCESS || handle == file->handle ? code : file->fail(code);
}

/// A blocking access by this rank alone. Without an offset it is at the file pointer.
template <class Passing>
int alone(MPI_File& handle, const MPI_Offset* at, Access access, MPI_Status* status, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (file && file->form != Form::file) return alone_in_set(*file, at, access, status);
  if (file && file->waits() && file->view.pieces().tile().dense() && !file->why_pass(access.way)) {
    access.position = at ? *at : file->position;
    Transfer transfer{*file, access};
    if (const auto code = transfer.move_alone(status)) {
      if (!at && *code == MPI_SUCCESS) file->position += transfer.elements();
      return *code;
    }
  }
  return alone(handle, access.call, at ? Pointer::none : Pointer::individual, "independent", passing);
}

/// A non-blocking one.
template <class Passing>
int begin_alone(MPI_File& handle, const MPI_Offset* at, Access access, MPI_Request* request, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (file && file->form != Form::file) return begin_alone_in_set(*file, at, access, request);
  return alone(handle, access.call, at ? Pointer::none : Pointer::individual, "independent", passing);
}

/// What any rank asks of the file as the MPI library has it, or else of the program's handle.
template <class Passing>
int told_of(OpenFile& file, MPI_File& handle, Passing&& passing) {
  if (file.library != MPI_FILE_NULL) handle = file.library;
  const int code = passing();
  return code == MPI_SUCCESS || handle == file.handle ? code : file.fail(code);
}

/// What all ranks do together, left to the MPI library.
template <class Passing>
int together(MPI_File& handle, const char* call, const char* reason, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  file->tally.passed(call, file->refusal.empty() ? reason : file->refusal.c_str());
  return by_library(*file, handle, Pointer::none, passing);
}

/// What one rank does with the shared file pointer.
template <class Passing>
int at_shared_pointer(MPI_File& handle, const char* call, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  file->tally.passed(call, file->refusal.empty() ? "shared file pointer" : file->refusal.c_str());
  if (file->view.pending()) return file->fail(untold_view(*file));
  return told_of(*file, handle, passing);
}

/// A collective access: blocking, or the first half of a split one. Without an offset it is at the file pointer.
template <class Carry, class Passing>
int collective(MPI_File& handle, const MPI_Offset* at, Access access, Carry&& carry, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  file->settle();
  const auto pass_on = [&] {
    file->tally.passed(access.call, file->why_pass(access.way));
    return by_library(*file, handle, at ? Pointer::none : Pointer::individual, passing, file->why_pass(access.way));
  };
  if (file->why_pass(access.way)) return pass_on();
  access.position = at ? *at : file->position;
  auto transfer = std::make_unique<Transfer>(*file, access);
  if (!transfer->begin()) return pass_on();
  transfer->start();
  if (!at) file->position += transfer->elements();
  return carry(*file, std::move(transfer));
}

/// What a blocking access does with a transfer that has been started.
inline auto finish(MPI_Status* status) {
  return [status](OpenFile&, std::unique_ptr<Transfer> transfer) { return transfer->finish(status); };
}
/// What the first half of a split one does.
inline int keep(OpenFile& file, std::unique_ptr<Transfer> transfer) {
  file.split = std::move(transfer);
  return MPI_SUCCESS;
}

/// The second half of a split access.
template <class Passing>
int end_split(MPI_File& handle, MPI_Status* status, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (!file->split) return told_of(*file, handle, passing);
  return std::unique_ptr<Transfer> { std::move(file->split) } -> finish(status);
}

/// A non-blocking collective access. Without an offset it is at the file pointer. Where it cannot be carried out beside
/// the program, each rank has its own part carried out alone by `alone_call`: no rank may wait for another here.
template <class Passing>
int nonblocking(MPI_File& handle, const MPI_Offset* at, Access access, MPI_Request* request, Passing&& passing,
                auto&& alone_call) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (file->why_pass(access.way)) {
    file->tally.passed(access.call, file->why_pass(access.way));
    return by_library(*file, handle, at ? Pointer::none : Pointer::individual, passing, file->why_pass(access.way));
  }
  if (file->form != Form::file) return begin_in_set(*file, at, access, request);
  if (!file->can_go_on_beside()) return alone_call();
  access.position = at ? *at : file->position;
  auto transfer = std::make_unique<Transfer>(*file, access);
  const MPI_Offset elements = transfer->elements();
  const int code = begin_in_background(*file, std::move(transfer), request);
  if (!at && code == MPI_SUCCESS) file->position += elements;
  return code;
}

/// The new view of a file. Collective.
template <class Passing>
int set_view(MPI_File& handle, MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type,
             const char* representation, MPI_Info info, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  file->settle();  // what goes on beside the program has the view of before
  const bool can_be = is_native_view(displacement, element, type, representation);
  if (!can_be && is_native(representation) && file->refusal.empty()) {
    // Maybe on this rank alone: the program's handle tells why.
    const int code = passing();
    return code != MPI_SUCCESS ? code : file->fail(MPI_ERR_ARG);
  }
  const bool defer = can_be && file->refusal.empty() && file->defers_views && !file->atomic;
  if (!defer)
    if (const int code = by_library(*file, handle, Pointer::none, passing); code != MPI_SUCCESS) return code;
  add_hints(info, file->hints);
  file->view.set(displacement, element, type, representation);
  if (!defer) file->view.told();
  if (defer && !(file->mode & MPI_MODE_RDONLY) && !file->view.can_be_written())
    if (const int code = passing(); code != MPI_SUCCESS) return code;  // the program's handle tells what is wrong
  file->own_reader_sees = false;
  file->position = 0;
  return MPI_SUCCESS;
}

template <class Passing>
int get_view(MPI_File& handle, MPI_Offset* displacement, MPI_Datatype* element, MPI_Datatype* type,
             char* representation, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (!file->view.pending()) return told_of(*file, handle, passing);
  file->view.get(displacement, element, type, representation);
  return MPI_SUCCESS;
}

template <class Passing>
int seek(MPI_File& handle, MPI_Offset at, int from, Passing&& passing) {
  OpenFile* const file = find(handle);
  const MPI_Offset to = from == MPI_SEEK_CUR && file ? file->position + at : at;
  if (!file || !file->refusal.empty() || (from != MPI_SEEK_SET && from != MPI_SEEK_CUR) || to < 0)
    return alone(handle, nullptr, Pointer::individual, "", passing);
  file->position = to;
  return MPI_SUCCESS;
}

template <class Passing>
int get_position(MPI_File& handle, MPI_Offset* at, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (!file->refusal.empty() || !at) return told_of(*file, handle, passing);
  *at = file->position;
  return MPI_SUCCESS;
}

template <class Passing>
int get_byte_offset(MPI_File& handle, MPI_Offset at, MPI_Offset* byte, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file || !file->view.pending() || at < 0 || !byte || !file->view.problem().empty() || file->view.pieces().empty())
    return alone(handle, nullptr, Pointer::none, "", passing);
  const View& view = file->view.pieces();
  *byte = static_cast<MPI_Offset>(view.runs(static_cast<std::uint64_t>(at) * view.element(), 1).front().offset);
  return MPI_SUCCESS;
}

template <class Passing>
int set_atomicity(MPI_File& handle, int on, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (!on && file->form != Form::file) return MPI_SUCCESS;
  const int code = by_library(*file, handle, Pointer::none, passing);
  if (code == MPI_SUCCESS) file->atomic = on != 0;
  return code;
}

/// What the MPI library need not be asked about a file that it has not opened: `answer` gives it.
template <class Answer, class Passing>
int known(MPI_File& handle, const void* result, Answer&& answer, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (!file->waits() || !result) return told_of(*file, handle, passing);
  return answer(*file);
}

/// What all ranks do together without the MPI library, where that has not opened the file.
template <class Deed, class Passing>
int done_together(MPI_File& handle, bool can_be, Deed&& deed, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (!file->waits()) return told_of(*file, handle, passing);
  if (!can_be) return passing();  // the program's handle tells why
  if (!file->company->weir()) return by_library(*file, handle, Pointer::none, passing);
  file->settle();
  const Status status = deed(*file);
  return status.ok() ? MPI_SUCCESS : file->fail(status);
}

/// Tells the MPI library, where it has the file open, and Weir of hints. Collective.
Status set_hints(OpenFile& file, MPI_Info info);

/// New hints, besides those of before. Collective.
template <class Passing>
int set_info(MPI_File& handle, MPI_Info info, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  add_hints(info, file->hints);
  file->view.hint_alone(info);
  return done_together(
      handle, true, [&](OpenFile& known) { return set_hints(known, info); }, passing);
}

int size_of(OpenFile& file, MPI_Offset* size);
int hints_of(OpenFile& file, MPI_Info* info);
template <class Passing>
int get_info(MPI_File handle, MPI_Info* info, Passing&& passing) {
  OpenFile* const file = find(handle);
  return file && info ? hints_of(*file, info) : passing();
}
int group_of(OpenFile& file, MPI_Group* group);
/// Collective.
Status set_size(OpenFile& file, MPI_Offset size);
Status sync(OpenFile& file);

/// After MPI_File_sync: this node sees what others wrote, also on a file system whose nodes cache pages for themselves.
int synchronised(int code, MPI_File handle);

}  // namespace weir::interpose

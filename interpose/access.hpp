#pragma once

#include <memory>

#include "real.hpp"
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

/// Whether it can be a view at all, in the native representation; what is wrong with it is left to the MPI library to
/// tell.
bool is_native_view(MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type, const char* representation);
/// The error of an access that needs a view that the MPI library does not know of.
Status untold_view(const OpenFile& file);

/// What this rank does alone, carried out by the MPI library.
template <class Passing>
int alone(MPI_File& handle, const char* call, Pointer pointer, const char* reason, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  file->tally.passed(call, file->refusal.empty() ? reason : file->refusal.c_str());
  const MPI_File own = handle;
  if (const int code = file->view.alone(own, file->path, file->mode, handle); code != MPI_SUCCESS)
    return file->fail(code);
  const int code = pointer == Pointer::individual ? at_pointer(*file, handle, passing) : passing();
  return code == MPI_SUCCESS || handle == own ? code : file->fail(code);
}

/// What all ranks do together, left to the MPI library.
template <class Passing>
int together(MPI_File handle, const char* call, Passing&& passing) {
  if (OpenFile* const file = find(handle)) {
    file->tally.passed(call, file->refusal.empty() ? "shared file pointer" : file->refusal.c_str());
    if (const int code = file->view.tell_all(handle); code != MPI_SUCCESS) return code;
  }
  return passing();
}

/// What one rank does with the shared file pointer.
template <class Passing>
int at_shared_pointer(MPI_File handle, const char* call, Passing&& passing) {
  if (OpenFile* const file = find(handle)) {
    file->tally.passed(call, file->refusal.empty() ? "shared file pointer" : file->refusal.c_str());
    if (file->view.pending()) return file->fail(untold_view(*file));
  }
  return passing();
}

/// A collective access: blocking, or the first half of a split one. Without an offset it is at the file pointer.
template <class Carry, class Passing>
int collective(MPI_File handle, const MPI_Offset* at, Access access, Carry&& carry, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  const auto pass_on = [&] {
    file->tally.passed(access.call, file->why_pass(access.way));
    return at ? passing() : at_pointer(*file, handle, passing);
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
int end_split(MPI_File handle, MPI_Status* status, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file || !file->split) return passing();
  return std::unique_ptr<Transfer> { std::move(file->split) } -> finish(status);
}

/// A non-blocking collective access. MPI lets a rank go on without any other having come, and complete in whatever
/// order; so each rank has its own part carried out alone.
template <class Passing>
int nonblocking(MPI_File handle, Way way, const char* call, Passing&& passing, auto&& alone_call) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (!file->why_pass(way)) return alone_call();
  file->tally.passed(call, file->why_pass(way));
  return passing();
}

/// The new view of a file. Collective.
template <class Passing>
int set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type,
             const char* representation, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file || !file->refusal.empty()) return passing();
  const bool defer = file->defers_views && !file->atomic && is_native_view(displacement, element, type, representation);
  if (!defer)
    if (const int code = passing(); code != MPI_SUCCESS) return code;
  file->view.set(displacement, element, type, representation);
  if (!defer) file->view.told();
  file->position = 0;
  return MPI_SUCCESS;
}

template <class Passing>
int get_view(MPI_File handle, MPI_Offset* displacement, MPI_Datatype* element, MPI_Datatype* type, char* representation,
             Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file || !file->view.pending()) return passing();
  file->view.get(displacement, element, type, representation);
  return MPI_SUCCESS;
}

template <class Passing>
int seek(MPI_File& handle, MPI_Offset at, int from, Passing&& passing) {
  OpenFile* const file = find(handle);
  const MPI_Offset to = from == MPI_SEEK_CUR && file ? file->position + at : at;
  if (!file || !file->refusal.empty() || from == MPI_SEEK_END || to < 0)
    return alone(handle, nullptr, Pointer::individual, "", passing);
  file->position = to;
  return MPI_SUCCESS;
}

template <class Passing>
int get_position(MPI_File handle, MPI_Offset* at, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file || !file->refusal.empty() || !at) return passing();
  *at = file->position;
  return MPI_SUCCESS;
}

template <class Passing>
int get_byte_offset(MPI_File handle, MPI_Offset at, MPI_Offset* byte, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file || !file->view.pending() || at < 0 || !byte || !file->view.problem().empty()) return passing();
  const View& view = file->view.pieces();
  if (view.empty()) return passing();
  *byte = static_cast<MPI_Offset>(view.runs(static_cast<std::uint64_t>(at) * view.element(), 1).front().offset);
  return MPI_SUCCESS;
}

template <class Passing>
int set_atomicity(MPI_File handle, int on, Passing&& passing) {
  OpenFile* const file = find(handle);
  if (!file) return passing();
  if (const int code = file->view.tell_all(handle); code != MPI_SUCCESS) return code;
  const int code = passing();
  if (code == MPI_SUCCESS) file->atomic = on != 0;
  return code;
}

/// After MPI_File_sync: this node sees what others wrote, also on a file system whose nodes cache pages for themselves.
int synchronised(int code, MPI_File handle);

/// Adds to what the MPI library says about hints.
int inform(int code, MPI_File handle, MPI_Info* info);

}  // namespace weir::interpose

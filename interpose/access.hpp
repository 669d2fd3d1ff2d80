#pragma once

#include "real.hpp"
#include "transfer.hpp"

namespace weir::interpose {

/// Calls the MPI library with its own file pointer where ours is, and takes ours from it afterwards.
template <class Passing>
int with_pointer(OpenFile& file, Passing&& passing) {
  if (!file.refusal.empty()) return passing();
  pass(real().seek, file.handle, file.position, MPI_SEEK_SET);
  const int code = passing();
  pass(real().get_position, file.handle, &file.position);
  return code;
}

/// A call that is left to the MPI library.
template <class Passing>
int pass_call(MPI_File handle, const char* call, const char* reason, Passing&& passing) {
  if (Tally::wanted())
    if (const auto file = find(handle)) file->tally.passed(call, file->refusal.empty() ? reason : file->refusal.c_str());
  return passing();
}

/// The same for one that uses the individual file pointer.
template <class Passing>
int pass_at_pointer(MPI_File handle, const char* call, const char* reason, Passing&& passing) {
  const auto file = find(handle);
  if (!file) return passing();
  file->tally.passed(call, file->refusal.empty() ? reason : file->refusal.c_str());
  return with_pointer(*file, passing);
}

/// A collective access: blocking, or the first half of a split one. Without an offset it is at the file pointer.
template <class Carry, class Passing>
int collective(MPI_File handle, const MPI_Offset* at, Access access, Carry&& carry, Passing&& passing) {
  const auto file = find(handle);
  if (!file) return passing();
  const auto pass_on = [&] { return at ? passing() : with_pointer(*file, passing); };
  if (const char* reason = file->why_pass(access.way)) {
    file->tally.passed(access.call, reason);
    return pass_on();
  }
  access.position = at ? *at : file->position;
  auto transfer = std::make_unique<Transfer>(*file, access);
  if (!transfer->begin()) {
    file->tally.passed(access.call, file->refusal.c_str());
    return pass_on();
  }
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
  const auto file = find(handle);
  if (!file || !file->split) return passing();
  return std::unique_ptr<Transfer>{std::move(file->split)}->finish(status);
}

/// What becomes of a file when the MPI library has carried out these calls, with this code.
int viewed(int code, MPI_File handle, MPI_Offset displacement, MPI_Datatype element, MPI_Datatype type,
           const char* representation);
int made_atomic(int code, MPI_File handle, int on);
int informed(int code, MPI_File handle, MPI_Info* info);

}  // namespace weir::interpose

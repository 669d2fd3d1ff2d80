#include <map>
#include <memory>
#include <mutex>

#include "open_file.hpp"
#include "pnetcdf_file.hpp"

/// The entry points of PnetCDF: to take over the lists of another type is a line here.

namespace weir::interpose {

namespace {

std::mutex pnetcdf_guard;
std::map<int, std::unique_ptr<PnetcdfFile>> pnetcdf_files;

PnetcdfFile* find_pnetcdf(int id) noexcept {
  const std::lock_guard lock{pnetcdf_guard};
  const auto found = pnetcdf_files.find(id);
  return found == pnetcdf_files.end() ? nullptr : found->second.get();
}

/// Opens a file with PnetCDF, and takes note of it where lists can be kept: then so on all ranks.
template <class Opening>
int open_pnetcdf(MPI_Comm communicator, const int* id, bool writable, PnetcdfFile::Mode mode, Opening&& opening) {
  last_opened = MPI_FILE_NULL;
  const int code = opening();
  if (code != nc::no_error || last_opened == MPI_FILE_NULL) return code;
  const OpenFile* const file = find(last_opened);
  if (!file || !file->lists || file->form != Form::file || !file->refusal.empty()) return code;
  int asked = 0, there = 0;
  PMPI_Comm_size(communicator, &asked);
  PMPI_Comm_size(file->company->communicator, &there);
  if (asked != there) return code;  // PnetCDF lets some ranks access the file for others
  auto made = std::make_unique<PnetcdfFile>(*id, last_opened, file->company->communicator, writable, mode);
  const std::lock_guard lock{pnetcdf_guard};
  pnetcdf_files[*id] = std::move(made);
  return code;
}

int enter(int id, PnetcdfFile::Mode mode, int code) noexcept {
  if (PnetcdfFile* const file = find_pnetcdf(id); file && code == nc::no_error) file->enter(mode);
  return code;
}

template <class Closing>
int close_pnetcdf(int id, Closing&& closing) {
  PnetcdfFile* const file = find_pnetcdf(id);
  if (file) (void)file->hand_over();  // PnetCDF says what becomes of them
  const int code = closing(id);
  const std::lock_guard lock{pnetcdf_guard};
  pnetcdf_files.erase(id);
  return code;
}

int complete(int id, int count, int* requests, int* statuses, int (PnetcdfFile::*how)(int, int*, int*),
             decltype(&ncmpi_wait) real) {
  PnetcdfFile* const file = find_pnetcdf(id);
  return file ? (file->*how)(count, requests, statuses) : real(id, count, requests, statuses);
}

constexpr int pnetcdf_write = 1;  // in the mode of opening

}  // namespace

}  // namespace weir::interpose

using namespace weir::interpose;

#define SHOWN_ __attribute__((visibility("default")))
#define LISTS_OF_(put, buffer, name, value, type)                                                                  \
  SHOWN_ int ncmpi_##put##_varn_##name(int id, int variable, int count, MPI_Offset* const* starts,                 \
                                       MPI_Offset* const* counts, const value* data, int* request) {               \
    PnetcdfFile* const file = find_pnetcdf(id);                                                                    \
    if (file && file->keep(PnetcdfFile::Buffer::buffer, variable, count, starts, counts, data, -1, type, request)) \
      return nc::no_error;                                                                                         \
    static const auto real =                                                                                       \
        reinterpret_cast<decltype(&ncmpi_##put##_varn_##name)>(find_in_pnetcdf("ncmpi_" #put "_varn_" #name));     \
    return real(id, variable, count, starts, counts, data, request);                                               \
  }
#define LISTS_OF(name, value, type)            \
  LISTS_OF_(iput, programs, name, value, type) \
  LISTS_OF_(bput, attached, name, value, type)
#define LISTS(put, buffer)                                                                                             \
  SHOWN_ int ncmpi_##put##_varn(int id, int variable, int count, MPI_Offset* const* starts, MPI_Offset* const* counts, \
                                const void* data, MPI_Offset elements, MPI_Datatype type, int* request) {              \
    PnetcdfFile* const file = find_pnetcdf(id);                                                                        \
    if (file &&                                                                                                        \
        file->keep(PnetcdfFile::Buffer::buffer, variable, count, starts, counts, data, elements, type, request))       \
      return nc::no_error;                                                                                             \
    return real_pnetcdf().put##_varn(id, variable, count, starts, counts, data, elements, type, request);              \
  }

extern "C" {

SHOWN_ int ncmpi_create(MPI_Comm communicator, const char* path, int mode, MPI_Info info, int* id) {
  return open_pnetcdf(communicator, id, true, PnetcdfFile::Mode::define,
                      [&] { return real_pnetcdf().create(communicator, path, mode, info, id); });
}
SHOWN_ int ncmpi_open(MPI_Comm communicator, const char* path, int mode, MPI_Info info, int* id) {
  return open_pnetcdf(communicator, id, (mode & pnetcdf_write) != 0, PnetcdfFile::Mode::collective,
                      [&] { return real_pnetcdf().open(communicator, path, mode, info, id); });
}
SHOWN_ int ncmpi_close(int id) { return close_pnetcdf(id, real_pnetcdf().close); }
SHOWN_ int ncmpi_abort(int id) { return close_pnetcdf(id, real_pnetcdf().abort); }
SHOWN_ int ncmpi_redef(int id) { return enter(id, PnetcdfFile::Mode::define, real_pnetcdf().redef(id)); }
SHOWN_ int ncmpi_enddef(int id) { return enter(id, PnetcdfFile::Mode::collective, real_pnetcdf().enddef(id)); }
SHOWN_ int ncmpi__enddef(int id, MPI_Offset header, MPI_Offset alignment, MPI_Offset free, MPI_Offset records) {
  return enter(id, PnetcdfFile::Mode::collective, real_pnetcdf()._enddef(id, header, alignment, free, records));
}
SHOWN_ int ncmpi_begin_indep_data(int id) {
  return enter(id, PnetcdfFile::Mode::independent, real_pnetcdf().begin_indep_data(id));
}
SHOWN_ int ncmpi_end_indep_data(int id) {
  return enter(id, PnetcdfFile::Mode::collective, real_pnetcdf().end_indep_data(id));
}

SHOWN_ int ncmpi_wait_all(int id, int count, int* requests, int* statuses) {
  return complete(id, count, requests, statuses, &PnetcdfFile::wait_all, real_pnetcdf().wait_all);
}
SHOWN_ int ncmpi_wait(int id, int count, int* requests, int* statuses) {
  return complete(id, count, requests, statuses, &PnetcdfFile::wait, real_pnetcdf().wait);
}
SHOWN_ int ncmpi_cancel(int id, int count, int* requests, int* statuses) {
  return complete(id, count, requests, statuses, &PnetcdfFile::cancel, real_pnetcdf().cancel);
}
SHOWN_ int ncmpi_inq_nreqs(int id, int* count) {
  const int code = real_pnetcdf().inq_nreqs(id, count);
  const PnetcdfFile* const file = find_pnetcdf(id);
  if (file && count && code == nc::no_error) *count += file->kept();
  return code;
}
SHOWN_ int ncmpi_inq_put_size(int id, MPI_Offset* size) {
  const int code = real_pnetcdf().inq_put_size(id, size);
  const PnetcdfFile* const file = find_pnetcdf(id);
  if (file && size && code == nc::no_error) *size += file->written();
  return code;
}

SHOWN_ int ncmpi_inq_buffer_usage(int id, MPI_Offset* bytes) {
  const int code = real_pnetcdf().inq_buffer_usage(id, bytes);
  const PnetcdfFile* const file = find_pnetcdf(id);
  if (file && bytes && code == nc::no_error) *bytes += file->buffered();
  return code;
}
SHOWN_ int ncmpi_buffer_detach(int id) {
  PnetcdfFile* const file = find_pnetcdf(id);
  if (file && file->buffered() > 0) (void)file->hand_over();  // PnetCDF says that there are some
  return real_pnetcdf().buffer_detach(id);
}

LISTS(iput, programs)
LISTS(bput, attached)
LISTS_OF(text, char, MPI_CHAR)
LISTS_OF(schar, signed char, MPI_SIGNED_CHAR)
LISTS_OF(uchar, unsigned char, MPI_UNSIGNED_CHAR)
LISTS_OF(short, short, MPI_SHORT)
LISTS_OF(ushort, unsigned short, MPI_UNSIGNED_SHORT)
LISTS_OF(int, int, MPI_INT)
LISTS_OF(uint, unsigned int, MPI_UNSIGNED)
LISTS_OF(float, float, MPI_FLOAT)
LISTS_OF(double, double, MPI_DOUBLE)
LISTS_OF(longlong, long long, MPI_LONG_LONG_INT)
LISTS_OF(ulonglong, unsigned long long, MPI_UNSIGNED_LONG_LONG)

}  // extern "C"

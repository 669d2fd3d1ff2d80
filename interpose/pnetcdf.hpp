#pragma once

#include <mpi.h>

/// What is needed of PnetCDF, whose header may not be there when Weir is built: its functions are found when a program
/// calls them.
extern "C" {
int ncmpi_create(MPI_Comm communicator, const char* path, int mode, MPI_Info info, int* file);
int ncmpi_open(MPI_Comm communicator, const char* path, int mode, MPI_Info info, int* file);
int ncmpi_close(int file);
int ncmpi_abort(int file);
int ncmpi_redef(int file);
int ncmpi_enddef(int file);
int ncmpi__enddef(int file, MPI_Offset header_free, MPI_Offset alignment, MPI_Offset free, MPI_Offset record_alignment);
int ncmpi_begin_indep_data(int file);
int ncmpi_end_indep_data(int file);
int ncmpi_wait(int file, int count, int* requests, int* statuses);
int ncmpi_wait_all(int file, int count, int* requests, int* statuses);
int ncmpi_cancel(int file, int count, int* requests, int* statuses);
int ncmpi_inq_nreqs(int file, int* count);
int ncmpi_inq_put_size(int file, MPI_Offset* size);
int ncmpi_iput_varn(int file, int variable, int count, MPI_Offset* const* starts, MPI_Offset* const* counts,
                    const void* data, MPI_Offset elements, MPI_Datatype type, int* request);
int ncmpi_bput_varn(int file, int variable, int count, MPI_Offset* const* starts, MPI_Offset* const* counts,
                    const void* data, MPI_Offset elements, MPI_Datatype type, int* request);
int ncmpi_inq_buffer_size(int file, MPI_Offset* bytes);
int ncmpi_inq_buffer_usage(int file, MPI_Offset* bytes);
int ncmpi_buffer_detach(int file);
int ncmpi_inq_var(int file, int variable, char* name, int* type, int* dimensions, int* ids, int* attributes);
int ncmpi_inq_unlimdim(int file, int* dimension);
int ncmpi_inq_dimlen(int file, int dimension, MPI_Offset* length);
int ncmpi_inq_varoffset(int file, int variable, MPI_Offset* offset);
int ncmpi_inq_recsize(int file, MPI_Offset* size);
int ncmpi_inq_format(int file, int* format);
int ncmpi_inq_file_info(int file, MPI_Info* info);
}

namespace weir::interpose {

#define WEIR_PNETCDF_CALLS(CALL)                                                                                      \
  CALL(create)                                                                                                        \
  CALL(open)                                                                                                          \
  CALL(close)                                                                                                         \
  CALL(abort)                                                                                                         \
  CALL(redef)                                                                                                         \
  CALL(enddef)                                                                                                        \
  CALL(_enddef) CALL(begin_indep_data) CALL(end_indep_data) CALL(wait) CALL(wait_all) CALL(cancel) CALL(inq_nreqs)    \
      CALL(inq_put_size) CALL(iput_varn) CALL(bput_varn) CALL(inq_buffer_size) CALL(inq_buffer_usage)                 \
          CALL(buffer_detach) CALL(inq_var) CALL(inq_unlimdim) CALL(inq_dimlen) CALL(inq_varoffset) CALL(inq_recsize) \
              CALL(inq_format) CALL(inq_file_info)

/// The calls as PnetCDF has them.
struct RealPnetcdf {
#define WEIR_MEMBER(name) decltype(&::ncmpi_##name) name;
  WEIR_PNETCDF_CALLS(WEIR_MEMBER)
#undef WEIR_MEMBER
};
const RealPnetcdf& real_pnetcdf() noexcept;

/// A function of PnetCDF by its name; ends the program where there is none.
void* find_in_pnetcdf(const char* name) noexcept;

}  // namespace weir::interpose

#include <ISO_Fortran_binding.h>
#include <stdint.h>
#include <stdio.h>
#include <weir/weir.h>

/* What Fortran cannot say in an interface of its own: communicators, and the bytes of an array of any type. */

int weir_fortran_context_create(MPI_Fint communicator, const weir_setting* settings, weir_context** context) {
  return weir_context_create(MPI_Comm_f2c(communicator), settings, context);
}

static uint64_t bytes_of(const CFI_cdesc_t* data) {
  uint64_t bytes = data->elem_len;
  for (int i = 0; i < data->rank; ++i) bytes *= (uint64_t)data->dim[i].extent;
  return bytes;
}

static int refuse(const char* function) {
  char text[128];
  snprintf(text, sizeof text, "%s: the array is not contiguous; give a whole array, or a copy", function);
  return weir_refuse(text);
}

int weir_fortran_write(weir_step* step, int variable, const CFI_cdesc_t* data) {
  if (!CFI_is_contiguous(data)) return refuse("weir_write");
  return weir_write(step, variable, data->base_addr, bytes_of(data));
}

int weir_fortran_read(weir_step* step, int variable, CFI_cdesc_t* data) {
  if (!CFI_is_contiguous(data)) return refuse("weir_read");
  return weir_read(step, variable, data->base_addr, bytes_of(data));
}

/* A program that writes fixed and record variables through PnetCDF, by blocking and by non-blocking calls, reads them
 * again, and changes some. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

enum { ny = 5, nx = 7, records = 3 };

static void check(int code, const char* what) {
  if (code == NC_NOERR) return;
  fprintf(stderr, "cannot %s: %s\n", what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, file = 0, y = 0, x = 0, time = 0, fixed = 0, first = 0, second = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  check(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &time), "define");
  check(ncmpi_def_dim(file, "y", ny, &y), "define");
  check(ncmpi_def_dim(file, "x", nx * ranks, &x), "define");
  const int dimensions[3] = {time, y, x};
  check(ncmpi_def_var(file, "fixed", NC_DOUBLE, 2, dimensions + 1, &fixed), "define");
  check(ncmpi_def_var(file, "first", NC_FLOAT, 3, dimensions, &first), "define");
  check(ncmpi_def_var(file, "second", NC_SHORT, 3, dimensions, &second), "define");
  check(ncmpi_put_att_text(file, fixed, "units", 1, "m"), "describe");
  check(ncmpi_enddef(file), "end definitions");

  double values[ny * nx], back[ny * nx];
  float singles[records][ny * nx];
  short shorts[records][ny * nx];
  for (int i = 0; i < ny * nx; ++i) values[i] = 100 * rank + i;
  const MPI_Offset start[2] = {0, nx * rank}, count[2] = {ny, nx};
  check(ncmpi_put_vara_double_all(file, fixed, start, count, values), "write");
  for (int r = 0; r < records; ++r) {
    const MPI_Offset from[3] = {r, 0, nx * rank}, size[3] = {1, ny, nx};
    for (int i = 0; i < ny * nx; ++i) {
      singles[r][i] = (float)(r * 1000 + 100 * rank + i);
      shorts[r][i] = (short)(r * 1000 + 100 * rank + i);
    }
    check(ncmpi_iput_vara_float(file, first, from, size, singles[r], NULL), "post");
    check(ncmpi_iput_vara_short(file, second, from, size, shorts[r], NULL), "post");
  }
  check(ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL), "write");
  /* Every second column, by the last rank only; the others take part with nothing. */
  const MPI_Offset low[2] = {0, 0}, some[2] = {rank == ranks - 1 ? ny : 0, rank == ranks - 1 ? 3 : 0}, apart[2] = {1, 2};
  check(ncmpi_put_vars_double_all(file, fixed, low, some, apart, values), "write some");
  check(ncmpi_get_vara_double_all(file, fixed, start, count, back), "read");
  for (int i = 0; i < ny * nx; ++i)
    if (!(rank == 0 && i % nx < 6 && i % nx % 2 == 0) && back[i] != values[i]) check(NC_EINVAL, "find what was written");
  check(ncmpi_close(file), "close");
  MPI_Finalize();
}

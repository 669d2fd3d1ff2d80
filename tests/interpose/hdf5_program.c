/* A program that writes 3-D datasets through parallel HDF5: one contiguous, one chunked, by collective transfers of
 * hyperslabs, with an attribute written by HDF5 itself; then reads them again. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { nx = 6, ny = 10, nz = 12 };

static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "not %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void move(hid_t file, const char* name, const hsize_t* chunk, int rank, int ranks, int write) {
  const hsize_t whole[3] = {(hsize_t)nx * (hsize_t)ranks, ny, nz};
  const hsize_t start[3] = {(hsize_t)rank, 1, 2}, stride[3] = {(hsize_t)ranks, 1, 1}, count[3] = {nx, ny - 2, nz - 4};
  const hsize_t memory_size[3] = {nx, ny - 2, nz - 4};
  hid_t space = H5Screate_simple(3, whole, NULL), memory = H5Screate_simple(3, memory_size, NULL);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fill_time(creation, H5D_FILL_TIME_ALLOC);
  H5Pset_obj_track_times(creation, 0); /* else no two files are the same */
  if (chunk) H5Pset_chunk(creation, 3, chunk);
  hid_t set = write ? H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT)
                    : H5Dopen2(file, name, H5P_DEFAULT);
  check(set >= 0, "a dataset");
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const int values = nx * (ny - 2) * (nz - 4);
  double* data = malloc(sizeof(double) * (size_t)values);
  for (int i = 0; i < values; ++i) data[i] = write ? 1000.0 * rank + i : -1;
  if (write) check(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data) >= 0, "written");
  else check(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, transfer, data) >= 0, "read");
  for (int i = 0; i < values; ++i) check(data[i] == 1000.0 * rank + i, "what was written");
  free(data);
  H5Dclose(set);
  H5Pclose(transfer);
  H5Pclose(creation);
  H5Sclose(memory);
  H5Sclose(space);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hsize_t chunk[3] = {4, 5, 6};
  for (int write = 1; write >= 0; --write) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = write ? H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(argv[1], H5F_ACC_RDONLY, access);
    check(file >= 0, "a file");
    move(file, "contiguous", NULL, rank, ranks, write);
    move(file, "chunked", chunk, rank, ranks, write);
    check(H5Fclose(file) >= 0, "closed");
    H5Pclose(access);
  }
  MPI_Finalize();
}

/* A program that ends without closing its file. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Datatype view;
  MPI_File file;
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS || argc < 2) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_vector(2, 1, 2, MPI_INT, &view);
  MPI_Type_commit(&view);
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    return 1;
  MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL);
  MPI_File_write_at_all(file, 0, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Type_free(&view);
  MPI_Finalize();
  return 0;
}

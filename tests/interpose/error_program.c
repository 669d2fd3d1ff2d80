/* error_program FILE PIECE: all ranks write 16 MiB together in several rounds, in pieces that take turns; each says
 * which class of error it was told, or that there was none. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank = 0, ranks = 1, kind = MPI_SUCCESS;
  MPI_File file;
  MPI_Info hints;
  MPI_Datatype turn, view;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = (16 << 20) / ranks, piece = argc > 2 ? atoi(argv[2]) : 0;
  char* data = calloc(1, (size_t)bytes);
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "cb_buffer_size", "1048576");
  MPI_Type_contiguous(piece, MPI_BYTE, &turn);
  MPI_Type_create_resized(turn, 0, (MPI_Aint)piece * ranks, &view);
  MPI_Type_commit(&view);
  if (piece == 0 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
                                  piece < bytes ? hints : MPI_INFO_NULL, &file))
    return 1;
  if (piece < bytes) MPI_File_set_view(file, (MPI_Offset)piece * rank, MPI_BYTE, view, "native", MPI_INFO_NULL);
  const MPI_Offset at = piece < bytes ? 0 : (MPI_Offset)bytes * rank;
  MPI_Error_class(MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), &kind);
  puts(kind == MPI_SUCCESS        ? "told: success"
       : kind == MPI_ERR_NO_SPACE ? "told: no space"
       : kind == MPI_ERR_IO       ? "told: I/O error"
                                  : "told: another error");
  fflush(stdout);
  MPI_File_close(&file);
  MPI_Type_free(&view);
  MPI_Type_free(&turn);
  MPI_Info_free(&hints);
  MPI_Finalize();
  free(data);
  return 0;
}

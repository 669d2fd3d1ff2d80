/* Computes, sends messages and accesses a file alone: nothing that Weir takes over. What `work` costs is compared. */
#include <mpi.h>

enum { size = 4096, times = 200, values = 8192 };
static char data[size], back[size];
static double field[values];

static void compute(void) {
  for (int i = 1; i + 1 < values; ++i) field[i] = 0.25 * field[i - 1] + 0.5 * field[i] + 0.25 * field[i + 1] + 1;
}

void work(MPI_File file) {
  for (int i = 0; i < times; ++i) {
    const MPI_Offset at = (MPI_Offset)(i % 16) * size;
    compute();
    MPI_Sendrecv(data, size, MPI_BYTE, 0, 0, back, size, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_File_write_at(file, at, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, at, back, size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_write(file, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  if (argc < 2 || MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
    return 1;
  work(file);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}

#!/bin/sh
# mpich.sh WEIR NAME COMPILER: the launcher of MPICH starts jobs too.
set -eu
weir=$1
name=$2
compiler=$3
. "$(dirname "$0")/common.sh"
command -v "$compiler" >/dev/null || { echo "skipped: no $compiler here"; exit 77; }
cat >hosts.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  char name[MPI_MAX_PROCESSOR_NAME];
  int rank, length;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_processor_name(name, &length);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, rank * 2, name, 2, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
C
$compiler -o hosts hosts.c
timeout 60 "$weir" box run --box "$name" --mpi mpich -n 2 -- ./hosts "$box/fs/mpich" </dev/null
[ "$(on c5 cat "$box/fs/mpich")" = c0c1 ] || fail "not written by the first two hosts"

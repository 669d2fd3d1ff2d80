#!/bin/sh
# same_file.sh WEIR PROGRAM COMPARE...: a program writes the same file plainly and under `weir run`, and it was taken over.
set -eu
weir=$1
program=$2
shift 2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/../cli/checks.sh"
cd "$directory"
flags="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 4"

runs 0 mpirun $flags "$program" plain
WEIR_EXPLAIN=1 runs 0 "$weir" run $flags "$program" taken
says err "taken over: "
for compare in "$@"; do
  runs 0 $compare plain taken
done
# A policy by the file's name.
printf '[[file]]\nname = "tak*"\nrun.collective = "mpi"\n' >weir.toml
WEIR_EXPLAIN=1 runs 0 "$weir" run $flags "$program" taken
says err "nothing taken over: run.collective is mpi"
runs 0 cmp plain taken

#!/bin/sh
# What Weir does, in half a minute: one collective write and read with its explanation, then a comparison with MPI-IO.
set -eu
cd "$(dirname "$0")/.."
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

echo "== examples/first.cpp on 8 ranks"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
program=$PWD/build/bin/first_cpp
(cd "$directory" && mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 8 "$program")

echo
echo "== weir bench hacc: nine variables of 5,000 particles a rank, 16 ranks, against MPI-IO and plain POSIX calls"
build/bin/weir bench hacc --layout soa --particles 5000 --ranks 16 --against romio,ompio,posix --pairs 7

#!/bin/sh
# taken_over.sh WEIR NAME PROGRAM COMPARE: a program that knows nothing of Weir writes the same file with and without it.
set -eu
weir=$1
name=$2
program=$3
compare=$4
. "$(dirname "$0")/common.sh"
base=$box/fs/$(basename "$program")
job 8 --mca io romio321 "$program" "$base.plain"
WEIR_EXPLAIN=1 timeout 60 "$weir" run --launcher "$box/mpirun.openmpi" --mca io romio321 -n 8 "$program" "$base.taken" </dev/null 2>err
says err "taken over: "
on c4 $compare "$base.plain" "$base.taken"
on c6 cmp "$base.plain" "$base.taken"

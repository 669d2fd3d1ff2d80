#!/bin/sh
# weak.sh WEIR NAME PROGRAM: files on a mount whose hosts cache pages that nobody keeps coherent.
set -eu
weir=$1
name=$2
program=$3
. "$(dirname "$0")/common.sh"
job 8 "$program" stale "$box/weak/stale" 1  # it is weak indeed
for mode in aggregate direct; do
  WEIR_PLAN_MODE=$mode
  export WEIR_PLAN_MODE
  file=$box/weak/weak-$mode
  job 8 "$program" write "$file" 1
  job 8 "$program" read "$file" 1
  job 8 "$program" turns "$file" 2    # seeds 2 to 5, in place, by one job
  for host in c1 c6; do on $host "$program" check "$file" 5 8; done
  on c3 "$program" check "$box/fs/weak-$mode" 5 8
done
# A program that keeps its file open sees what others wrote after MPI_File_sync.
WEIR_PLAN_MODE=direct timeout 60 "$weir" run --launcher "$box/mpirun.openmpi" --mca io romio321 -n 8 "$program" mpiio "$box/weak/open" 1 </dev/null
on c3 "$program" check "$box/fs/open" 4 8

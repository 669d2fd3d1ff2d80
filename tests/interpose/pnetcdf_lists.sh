#!/bin/sh
# pnetcdf_lists.sh WEIR PROGRAM RANKS CASES: random lists of boxes, written through PnetCDF plainly and under `weir run`: the
# same files, and the same told of every request; and what is told of a full disk.
set -eu
weir=$1
program=$2
ranks=$3
cases=$4
directory=$(mktemp -d)
trap 'umount "$directory/small" 2>/dev/null; rm -rf "$directory"' EXIT
. "$(dirname "$0")/../cli/checks.sh"
cd "$directory"
flags="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca io romio321 -n $ranks"

# compared COMMAND...: it writes what the plain program has written.
compared() {
  rm -rf taken
  mkdir taken
  runs 0 env WEIR_EXPLAIN=1 "$@" "$weir" run $flags "$program" taken/x "$cases"
  says err "lists of boxes"
  for file in plain/*; do
    cmp "$file" "taken/${file#plain/}" || fail "'$*' makes another file"
  done
}
mkdir plain small
runs 0 mpirun $flags "$program" plain/x "$cases"
compared env
compared env WEIR_PLAN_MODE=aggregate WEIR_MACHINE_RANKS_PER_NODE=2 WEIR_PLAN_BUFFER_SIZE=4KiB

printf '[[file]]\nname = "x.*"\nrun.collective = "mpi"\n' >weir.toml
WEIR_EXPLAIN=1 runs 0 "$weir" run $flags "$program" taken/x 1
grep -q "lists of boxes" err && fail "lists are taken over although the file is left to the MPI library:" err
rm weir.toml

if [ -n "${WEIR_TEST_PRIVATE_MOUNTS-}" ] && mount -t tmpfs -o size=10m weir-test small; then
  runs 0 timeout 30 "$weir" run $flags "$program" small/file full
  [ "$(grep -c "told: NC_ENO_SPACE" out)" -eq "$ranks" ] || fail "not the same on all ranks:" out err
else
  echo "skipped: a full disk needs root and mounts of its own"
fi

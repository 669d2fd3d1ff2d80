#!/bin/sh
# told_everywhere.sh WEIR PROGRAM FAILING: what ranks are told of a full disk, and of an error that one rank meets, by the
# MPI library and by Weir.
set -eu
weir=$1
program=$2
failing=$3
directory=$(mktemp -d)
trap 'umount "$directory/small" 2>/dev/null; rm -rf "$directory"' EXIT
. "$(dirname "$0")/../cli/checks.sh"
cd "$directory"
ranks=4
flags="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n $ranks"

# shows LIBRARY WHAT COMMAND...: it tells this, in bounded time.
shows() {
  name=$1 expected=$2
  shift 2
  code=0
  timeout 10 "$@" >out 2>err || code=$?
  [ "$code" -eq 124 ] && ending="; then it hangs" || ending=
  found="$(grep 'told: ' out | sort | uniq -c | xargs)$ending"
  [ "$found" = "$expected" ] || fail "$name: '$found', not '$expected'" out err
  echo "  $name: $found"
}
# told CLASS COMMAND...: every rank is told the same.
told() {
  class=$1
  shift
  runs 0 timeout 30 "$@"
  [ "$(grep -c "told: $class" out)" -eq $ranks ] || fail "not '$class' on all ranks:" out err
  echo "  Weir: $ranks told: $class"
}

mkdir small
if [ -n "${WEIR_TEST_PRIVATE_MOUNTS-}" ] && mount -t tmpfs -o size=10m weir-test small; then
  echo "disk full"
  shows OMPIO "$ranks told: success" mpirun $flags --mca io ompio "$program" small/file 4194304
  rm -f small/file
  told "no space" "$weir" run $flags "$program" small/file 4194304
else
  echo "skipped: a full disk needs root and mounts of its own"
fi
echo "one rank's write fails"
shows ROMIO "1 told: I/O error; then it hangs" env LD_PRELOAD="$failing" mpirun $flags --mca io romio321 "$program" rank.fails 4096
LD_PRELOAD="$failing" told "I/O error" "$weir" run $flags "$program" rank.fails 4096
echo "one rank's write of one piece fails"
LD_PRELOAD="$failing" told "I/O error" "$weir" run $flags "$program" rank.fails 4194304

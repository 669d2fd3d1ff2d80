#!/bin/sh
# bench_run.sh WEIR: what `weir bench` prints for people and for programs, through run and beside a sketch.
set -eu
weir=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" bench hacc --through run --particles 50 --ranks 2 --pairs 3 --against romio --json out.json
says out "a program under weir run, one call a variable on both sides"
says out "romio, one call a variable"
[ "$(grep -c "repeated .* yes" out)" -eq 4 ] || fail "not all verified:" out
says out.json '"through": "run"'
WEIR_EXPLAIN=1 runs 0 "$weir" bench tile --tile 4x4 --through run --ranks 2 --pairs 3 --against posix --operation write
says err "taken over: "
runs 0 "$weir" bench hacc --particles 50 --ranks 3 --pairs 3 --against sketch
[ "$(grep -c "sketch, copies, barrier, two calls .* yes" out)" -eq 4 ] || fail "not all verified:" out
runs 2 "$weir" bench hacc --through walk
says err "--through"

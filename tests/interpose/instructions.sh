#!/bin/sh
# instructions.sh LIBRARY PROGRAM: a program without collective accesses executes less than 2 % more instructions.
set -eu
library=$1
program=$2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/../cli/checks.sh"
cd "$directory"
command -v valgrind >/dev/null || fail "valgrind is needed to count: sh packaging/setup.sh"

# counted LIBRARY: instructions in the function `work` and all that it calls.
counted() {
  LD_PRELOAD=$1 runs 0 valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=work "$program" data
  sed -n 's/.*Collected : \([0-9]*\).*/\1/p' err
}
plain=$(counted "")
taken=$(counted "$library")
echo "$plain instructions plainly, $taken with the library before the MPI library"
[ "$plain" -gt 1000000 ] || fail "'work' was not counted"
[ $((taken * 100)) -lt $((plain * 102)) ] || fail "more than 2 % more"

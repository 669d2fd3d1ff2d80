#!/bin/sh
# start_up.sh BUILD [PAIRS [RANKS]]: what `weir run` adds to a program that only begins and ends MPI, in pairs of changing
# order. Prints the median, least and greatest of the differences, and the median time without Weir.
set -eu
build=$1 pairs=${2:-21} ranks=${3:-1}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cat >"$directory/empty.c" <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return MPI_Finalize();
}
C
mpicc -o "$directory/empty" "$directory/empty.c"
flags="--oversubscribe --bind-to none -n $ranks $directory/empty"
milliseconds() {
  start=$(date +%s%N)
  "$@"
  echo $((($(date +%s%N) - start) / 10000)) | sed 's/..$/.&/'
}
for pair in $(seq "$pairs"); do
  if [ $((pair % 2)) -eq 0 ]; then
    plain=$(milliseconds mpirun $flags)
    taken=$(milliseconds "$build/bin/weir" run $flags)
  else
    taken=$(milliseconds "$build/bin/weir" run $flags)
    plain=$(milliseconds mpirun $flags)
  fi
  echo "$plain $taken"
done >"$directory/all"
# median EXPRESSION: of the pairs, with the least and greatest.
median() {
  awk "{ print $1 }" "$directory/all" | sort -g |
    awk '{ value[NR] = $1 }
      END { printf "%.1f ms [%.1f, %.1f]\n", (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2, value[1], value[NR] }'
}
echo "added    $(median '$2 - $1')"
echo "without  $(median '$1')"

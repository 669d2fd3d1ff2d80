#!/bin/sh
# hdf5_blocks.sh BUILD contiguous|chunked EDGE [PAIRS [MPI-IO [DIRECTORY]]]: the HDF5 program plainly and under `weir run`,
# in pairs of changing order. MPI-IO is an io component of Open MPI: romio321 (default) or ompio. Prints the median, least
# and greatest of the pairs' ratios, of the first file and of a later one; every pair's files are compared.
set -eu
build=$1 layout=$2 edge=$3 pairs=${4:-7} component=${5:-romio321}
directory=$(mktemp -d "${6:-.}/hdf5.XXXXXX")
trap 'rm -rf "$directory"' EXIT
flags="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 16"
program="$build/bin/weir_hdf5_blocks"

plainly() { mpirun $flags --mca io "$component" "$program" "$layout" "$edge" "$directory/plain.h5" 2 >"$directory/plain"; }
taken() { "$build/bin/weir" run $flags "$program" "$layout" "$edge" "$directory/taken.h5" 2 >"$directory/taken"; }
# seconds FILE: to write and to read the first file and the second, on a line.
seconds() { sed -n 's/^write \([0-9.]*\) s, read \([0-9.]*\) s.*/\1 \2/p' "$1" | paste -sd ' '; }

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for pair in $(seq "$pairs"); do
  if [ $((pair % 2)) -eq 0 ]; then plainly; taken; else taken; plainly; fi
  cmp "$directory/plain.h5" "$directory/taken.h5"
  echo "$(seconds "$directory/plain") $(seconds "$directory/taken")" >>"$directory/all"
done
echo "load behind: $(cut -d' ' -f1-3 /proc/loadavg)"
# ratio NAME PLAIN TAKEN: of two columns.
ratio() {
  awk -v plain="$2" -v taken="$3" '{ print $plain / $taken }' "$directory/all" | sort -g |
    awk -v name="$1" '{ value[NR] = $1 }
      END { printf "%-20s %.2f [%.2f, %.2f]\n", name, (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2, value[1], value[NR] }'
}
ratio "write, first file" 1 5
ratio "write, later file" 3 7
ratio "read, first file" 2 6
ratio "read, later file" 4 8

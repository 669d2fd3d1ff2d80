#!/bin/sh
# pnetcdf_e3sm.sh BUILD f|g MAP [PAIRS [MPI-IO [DIRECTORY]]]: the E3SM program plainly and under `weir run`, in pairs of
# changing order. MPI-IO is an io component of Open MPI: romio321 (default) or ompio. Prints the median, least and greatest
# of the pairs' ratios, of the first record and of a later one; every pair's files are compared.
set -eu
build=$1 case=$2 map=$3 pairs=${4:-7} component=${5:-romio321}
directory=$(mktemp -d "${6:-.}/pnetcdf.XXXXXX")
trap 'rm -rf "$directory"' EXIT
flags="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 16"
program="$build/bin/weir_pnetcdf_e3sm"

plainly() { mpirun $flags --mca io "$component" "$program" "$case" "$map" "$directory/plain.nc" 2 >"$directory/plain"; }
taken() { "$build/bin/weir" run $flags "$program" "$case" "$map" "$directory/taken.nc" 2 >"$directory/taken"; }
# seconds FILE: end to end and MPI-IO of the first record and the second, on a line.
seconds() { sed -n 's/^end to end \([0-9.]*\) s, in MPI-IO \([0-9.]*\) s.*/\1 \2/p' "$1" | paste -sd ' '; }

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for pair in $(seq "$pairs"); do
  if [ $((pair % 2)) -eq 0 ]; then plainly; taken; else taken; plainly; fi
  cmp "$directory/plain.nc" "$directory/taken.nc"
  echo "$(seconds "$directory/plain") $(seconds "$directory/taken")" >>"$directory/all"
done
echo "load behind: $(cut -d' ' -f1-3 /proc/loadavg)"
# ratio NAME PLAIN TAKEN: of two columns.
ratio() {
  awk -v plain="$2" -v taken="$3" '{ print $plain / $taken }' "$directory/all" | sort -g |
    awk -v name="$1" '{ value[NR] = $1 }
      END { printf "%-28s %.2f [%.2f, %.2f]\n", name, (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2, value[1], value[NR] }'
}
ratio "in MPI-IO, first record" 2 6
ratio "in MPI-IO, later record" 4 8
ratio "end to end, first record" 1 5
ratio "end to end, later record" 3 7

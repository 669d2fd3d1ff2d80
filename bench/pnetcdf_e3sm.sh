#!/bin/sh
# pnetcdf_e3sm.sh BUILD f|g MAP [PAIRS [MPI-IO [DIRECTORY]]]: the E3SM program plainly and under `weir run`, in pairs of
# changing order. MPI-IO is an io component of Open MPI: romio321 (default) or ompio. Prints the median, least and greatest
# of the pairs' ratios, of the first record, of a later one, each in a file of its own, and of all four, and what they could be
# end to end at most; every pair's files are compared.
set -eu
. "$(dirname "$0")/in_pairs.sh"
build=$1 program="$1/bin/weir_pnetcdf_e3sm $2 $3"
figures='\1 \2'
pattern='^end to end \([0-9.]*\) s, in MPI-IO \([0-9.]*\) s'
in_pairs "${4:-7}" "${5:-romio321}" "${6:-.}"
ratio "in MPI-IO, first record" 2 6
ratio "in MPI-IO, later record" 4 8
ratio "end to end, first record" 1 5
ratio "end to end, later record" 3 7
ratio "end to end, all four files" 9 10
ratio "limit, first record" 1 5 6
ratio "limit, later record" 3 7 8

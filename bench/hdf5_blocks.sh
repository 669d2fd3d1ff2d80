#!/bin/sh
# hdf5_blocks.sh BUILD contiguous|chunked EDGE [PAIRS [MPI-IO [DIRECTORY]]]: the HDF5 program plainly and under `weir run`,
# in pairs of changing order. MPI-IO is an io component of Open MPI: romio321 (default) or ompio. Prints the median, least
# and greatest of the pairs' ratios, of the first file and of a later one; every pair's files are compared.
set -eu
. "$(dirname "$0")/in_pairs.sh"
build=$1 program="$1/bin/weir_hdf5_blocks $2 $3"
pattern='^write \([0-9.]*\) s, read \([0-9.]*\) s'
in_pairs "${4:-7}" "${5:-romio321}" "${6:-.}"
ratio "write, first file" 1 5
ratio "write, later file" 3 7
ratio "read, first file" 2 6
ratio "read, later file" 4 8

#!/bin/sh
# hdf5_blocks.sh BUILD contiguous|chunked|shared EDGE [PAIRS [MPI-IO [DIRECTORY]]]: the HDF5 program plainly and under
# `weir run`, in pairs of changing order. MPI-IO is an io component of Open MPI: romio321 (default) or ompio. Prints the
# median, least and greatest of the pairs' ratios, of the first file and of a later one, in all and in calls of MPI-IO, and
# what they could be in all at most; every pair's files are compared.
set -eu
. "$(dirname "$0")/in_pairs.sh"
build=$1 program="$1/bin/weir_hdf5_blocks $2 $3"
figures='\1 \2 \3 \4'
pattern='^write \([0-9.]*\) s, read \([0-9.]*\) s, of it in MPI-IO \([0-9.]*\) and \([0-9.]*\)'
in_pairs "${4:-7}" "${5:-romio321}" "${6:-.}"
ratio "write, first file" 1 9
ratio "write, later file" 5 13
ratio "read, first file" 2 10
ratio "read, later file" 6 14
ratio "in MPI-IO, write, first" 3 11
ratio "in MPI-IO, write, later" 7 15
ratio "in MPI-IO, read, first" 4 12
ratio "in MPI-IO, read, later" 8 16
ratio "limit, write, first" 1 9 11
ratio "limit, write, later" 5 13 15
ratio "limit, read, first" 2 10 12
ratio "limit, read, later" 6 14 16

#!/bin/sh
# node_storage.sh WEIR PROGRAM MPIEXEC...: a program that knows nothing of it writes on storage of the nodes, `weir drain`
# brings its file to the file system, and `weir bench workflow` compares the two.
set -eu
weir=$1
program=$2
shift 2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" drain --help
for word in --node-dir --keep --rate mpirun "Exit codes"; do says out "$word"; done
runs 2 "$weir" drain
runs 2 "$weir" drain data
says err "memory.node_directory is not set"

runs 0 "$@" 4 "$program"
mv first_cpp.dat expected
export WEIR_STORAGE_TIER=node WEIR_MEMORY_NODE_DIRECTORY="$directory/n{node}" WEIR_MACHINE_RANKS_PER_NODE=2
runs 0 "$@" 4 "$program"
says out "read back what was written"
[ ! -e first_cpp.dat ] || fail "the file is in the file system"
[ "$(find n0 n1 -type f | wc -l)" -eq 4 ] || fail "not a file and an index on each node"

# Another job, with a rank a node.
export WEIR_MACHINE_RANKS_PER_NODE=1
runs 2 "$@" 2 "$weir" drain --rate fast first_cpp.dat
runs 1 "$@" 2 "$weir" drain other.dat
says err "the nodes of this job have nothing of it"
runs 1 "$@" 1 "$weir" drain first_cpp.dat
says err "1 of 2 sub-files"
runs 0 "$@" 2 "$weir" drain --keep first_cpp.dat
says out first_cpp.dat
cmp first_cpp.dat expected || fail "drained to other contents"
runs 0 "$@" 2 "$weir" drain --rate 1GiB first_cpp.dat
cmp first_cpp.dat expected || fail "drained to other contents"
[ "$(find n0 n1 -type f | wc -l)" -eq 0 ] || fail "something is left on the nodes"
unset WEIR_STORAGE_TIER WEIR_MEMORY_NODE_DIRECTORY WEIR_MACHINE_RANKS_PER_NODE

runs 0 "$weir" bench workflow --help
for word in --readers --node-dir --parameter --pairs Examples:; do says out "$word"; done
runs 2 "$weir" bench workflow --ranks 2 --readers 3
runs 0 "$weir" bench workflow --ranks 4 --readers 3 --nodes 2 --parameter particles=100 --pairs 3 --dir . --node-dir . \
  --json results.json
says out "drained to the file system"
[ "$(grep -c '"verified": true' results.json)" -eq 3 ] || fail "not three verified results" results.json
for operation in write read drain; do says results.json "\"operation\": \"$operation\""; done

#!/bin/sh
# with_memory_server.sh SERVER command...: runs it with all its steps through a memory server that is gone afterwards.
server=$1
shift
directory=$(mktemp -d)
"$server" 1000000000 "$directory/contact" &
process=$!
trap 'kill $process 2>/dev/null; wait $process; rm -rf "$directory"' EXIT
for attempt in $(seq 200); do
  [ -e "$directory/contact" ] && break
  sleep 0.05
done
RANDOM_CASES=${RANDOM_CASES:-60} WEIR_MEMORY_TIER=remote WEIR_REMOTE_CONTACT=$directory/contact WEIR_REMOTE_WHEN_LOST=fail "$@"

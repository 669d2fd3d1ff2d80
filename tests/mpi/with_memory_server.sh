#!/bin/sh
# with_memory_server.sh SERVER command...: runs it with all its steps through memory servers, TEST_SERVERS or one,
# that are gone afterwards.
server=$1
shift
directory=$(mktemp -d)
processes= contacts=
trap 'kill $processes 2>/dev/null; wait $processes; rm -rf "$directory"' EXIT
for number in $(seq "${TEST_SERVERS:-1}"); do
  "$server" 1000000000 "$directory/contact$number" &
  processes="$processes $!"
  contacts="$contacts${contacts:+,}$directory/contact$number"
done
for number in $(seq "${TEST_SERVERS:-1}"); do
  for attempt in $(seq 200); do
    [ -e "$directory/contact$number" ] && break
    sleep 0.05
  done
done
RANDOM_CASES=${RANDOM_CASES:-60} WEIR_MEMORY_TIER=remote WEIR_REMOTE_CONTACT=$contacts WEIR_REMOTE_WHEN_LOST=fail "$@"

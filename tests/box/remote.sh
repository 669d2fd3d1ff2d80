#!/bin/sh
# remote.sh WEIR NAME PROGRAM: a host lends its memory to the others over the links.
set -eu
weir=$1
name=$2
program=$3
. "$(dirname "$0")/common.sh"
shared=$box/fs/remote
on c0 mkdir "$shared"
timeout 60 "$weir" box exec --box "$name" c7 -- "$weir" memory serve --size 256MiB --listen tcp:c7:0 --secret "$shared/secret" \
  --contact "$shared/contact" >serving 2>&1 </dev/null &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server || true; rm -rf "$directory"' EXIT
tries=0
until grep -q '^contact file' serving; do
  tries=$((tries + 1))
  [ $tries -lt 200 ] || fail "the server does not start" serving
  sleep 0.05
done
WEIR_MEMORY_TIER=remote WEIR_REMOTE_CONTACT=$shared/contact WEIR_REMOTE_SECRET=$shared/secret WEIR_REMOTE_WHEN_LOST=fail \
  job 14 "$program" write "$box/fs/through-memory" 8
on c3 "$program" check "$box/fs/through-memory" 8 14
on c2 "$weir" memory status --contact "$shared/contact" --secret "$shared/secret" --json - >status
says status '"size": 268435456'

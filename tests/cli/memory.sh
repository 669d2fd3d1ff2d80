#!/bin/sh
# memory.sh WEIR: `weir memory serve` and `status`: help, what they say and leave, and what they refuse.
set -eu
weir=$1
directory=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"
# serve ARGUMENT...: starts a server and waits until it says where it listens.
serve() {
  : >serving
  "$weir" memory serve --size 64MiB "$@" >serving 2>serving.err &
  server=$!
  tries=0
  until grep -q '^contact file' serving; do
    tries=$((tries + 1))
    [ $tries -lt 500 ] && kill -0 $server 2>/dev/null || fail "the server does not start" serving serving.err
    sleep 0.02
  done
}
# ends SIGNAL: the server ends in order.
ends() {
  kill -"$1" "$server"
  code=0
  wait "$server" || code=$?
  server=
  [ "$code" -eq 0 ] || fail "the server ends with $code" serving serving.err
}

runs 0 "$weir" memory --help
for word in serve status; do says out "$word"; done
runs 0 "$weir" memory serve --help
for word in munge --size --quota --listen --contact --secret --directory --huge-pages --job --clients --hello --progress --idle "Exit codes"; do
  says out "$word"
done
runs 0 "$weir" memory status --help
for word in --contact --secret --json "Exit codes"; do says out "$word"; done

serve --listen unix:socket --contact contact --job mine
says serving "lends 64 MiB at unix:socket"
[ "$(stat -c %a contact)" = 600 ] || fail "the contact file can be read by others"
[ "$(stat -c %a socket)" = 600 ] || fail "the socket can be used by others"
says contact "job mine"
runs 0 "$weir" memory status --contact contact
silent err
says out "0 B of 64 MiB in 0 regions"
runs 0 "$weir" memory status --contact contact --json -
says out '"job": "mine"'
runs 0 "$weir" memory status --contact contact --json report.json
silent out
says report.json '"size": 67108864'
runs 1 "$weir" memory serve --size 1MiB --listen unix:other --contact contact
says err "listens at unix:socket"
[ ! -e other ] || fail "a server that did not start leaves its socket"
runs 1 "$weir" memory serve --size 1MiB --listen unix:socket --contact contact2
says err "another server has it"
ends TERM
[ ! -e socket ] && [ ! -e contact ] || fail "the server leaves its socket or contact file"
runs 1 "$weir" memory status --contact contact
says err "No such file"

serve --listen unix:socket --contact contact
kill -9 $server
wait $server || true
runs 1 "$weir" memory status --contact contact
says err "no server listens there"
serve --listen unix:socket --contact contact
runs 0 "$weir" memory status --contact contact
ends INT

head -c 32 /dev/urandom >other
chmod 600 other
serve --listen tcp:127.0.0.1:0 --secret secret --contact contact
[ "$(stat -c '%a %s' secret)" = "600 32" ] || fail "the secret that was made is not private"
grep -q '^lends .*tcp:127.0.0.1:[1-9]' serving || fail "no port is told" serving
runs 0 "$weir" memory status --contact contact --secret secret
runs 1 "$weir" memory status --contact contact --secret other
says err "does not know the secret"
runs 1 "$weir" memory status --contact contact
says err "--secret"
runs 1 "$weir" memory status --contact contact --secret munge:nowhere
says err "it wants the secret"
ends TERM
runs 1 "$weir" memory serve --size 1MiB --listen tcp:127.0.0.1:0 --secret munge:nowhere
says err "with munge"

for address in tcp:127.0.0.1:0 tcp:0.0.0.0:0; do
  runs 1 "$weir" memory serve --size 1MiB --listen $address
  says err "without a secret"
done
chmod 644 secret
runs 1 "$weir" memory serve --size 1MiB --listen tcp:127.0.0.1:0 --secret secret
says err "others may read"
runs 2 "$weir" memory serve
runs 2 "$weir" memory serve --size much
says err "'much' is no size"
runs 2 "$weir" memory serve --size 1MiB --listen http://x
says err "unix:PATH or tcp:HOST:PORT"
runs 2 "$weir" memory serve --size 1MiB --job 'a b'
runs 1 "$weir" memory serve --size 1MiB --directory missing
runs 2 "$weir" memory
[ ! -e weir-memory.contact ] || fail "a contact file is left"

serve --listen unix:socket --contact contact --huge-pages
says serving "lends 64 MiB"
runs 0 "$weir" memory status --contact contact
ends TERM
runs 2 "$weir" memory serve --size 1MiB --huge-pages --directory .
says err "excludes"

# Puts and gets beside UCX's own benchmark.
if "$weir" info | grep -qa '^ucx *yes' && command -v ucx_perftest >/dev/null; then
  runs 0 "$weir" bench ran --peer ucx --sizes 64KiB --pairs 3 --dir .
  for word in "64KiB    put" "64KiB    get" ucx_perftest; do says out "$word"; done
fi
transports="mapped socket"
"$weir" info | grep -qa '^ucx *yes' && transports="$transports ucx"
for transport in $transports; do
  runs 0 "$weir" bench ran --transport $transport --chunks 4KiB --fixed-ranks 2 --ranks 3 --buffers 64KiB --bytes 64KiB --pairs 3 --dir .
  for word in "sync / async" "meetings, async" "kept until absorbed" "the same in chunks of 64KiB" "by the size of buffers"; do says out "$word"; done
done
runs 2 "$weir" bench ran --peer other
runs 2 "$weir" bench ran --chunks 4KiB --fixed-ranks 2 --buffers many --dir .
says err "is not a number of bytes"
runs 2 "$weir" bench ran --peer ucx --sizes 1TiB --dir .
says err "is not a number of bytes up to"

#!/bin/sh
# command.sh WEIR: what `weir box` says and refuses, and that nothing is left of boxes that were ended half way.
set -eu
weir=$1
name=command
. "$(dirname "$0")/common.sh"
trap '"$weir" box down "$name" >/dev/null 2>&1 || true; "$weir" box down "$name"2 >/dev/null 2>&1 || true; rm -rf "$directory"' EXIT

runs 0 "$weir" box --help
for word in up down status exec run link cut mend kill "Exit codes"; do says out "$word"; done
runs 0 "$weir" box up --help
for word in --topology --rate --storage --stripe --weak; do says out "$word"; done
runs 2 "$weir" box up "$name" --topology ring
says err "known are torus"
runs 2 "$weir" box up "$name" --topology star:2
runs 2 "$weir" box up "$name" --topology star:65:1 --storage none
runs 2 "$weir" box up "$name" --rate fast
says err "200mbit"
runs 2 "$weir" box up "$name" --topology star:2:0
says err "no storage host"
runs 2 "$weir" box up "$name" --stripe 100
runs 2 "$weir" box up 'a/b'
runs 1 "$weir" box exec --box "$name" c0 -- true
says err "there is no box '$name'"
[ ! -e "/run/weir-box/$name" ] || fail "a box that was refused leaves its directory"
if command -v setpriv >/dev/null; then
  runs 1 setpriv --reuid 65534 --clear-groups "$weir" box up "$name"
  says err "takes root"
fi

settled before
for topology in star:3:1 dragonfly; do
  runs 0 "$weir" box up "$name" --topology $topology --storage none
  says out "$name is up"
  runs 1 "$weir" box up "$name"
  says err "there is one of this name"
  runs 0 "$weir" box status
  says out "$name: $topology"
  [ "$(on c2 hostname)" = c2 ] || fail "the host has another name"
  runs 7 "$weir" box exec --box "$name" c1 -- sh -c 'exit 7'
  runs 2 "$weir" box exec --box "$name" c9 -- true
  says err "its hosts are c0, c1"
  runs 2 "$weir" box exec --box "$name" c1
  runs 2 "$weir" box run --box "$name" -n 2 --
  says err "no program is given"
  runs 2 "$weir" box link --box "$name" c0 fe down
  if [ $topology = dragonfly ]; then
    runs 0 "$weir" box up "${name}2" --topology star:2:0 --storage none
    runs 0 "$weir" box down "${name}2"
    [ "$(on c7 hostname)" = c7 ] || fail "one box took the other down"
  fi
  runs 0 "$weir" box down "$name"
done
# Ended at any point, and then again.
for delay in 0.05 0.2 0.4; do
  "$weir" box up "$name" --storage none >/dev/null 2>&1 &
  process=$!
  sleep $delay
  kill -9 $process 2>/dev/null || true
  wait $process 2>/dev/null || true
  [ ! -e "/run/weir-box/$name" ] || runs 0 "$weir" box down "$name"
done
mkdir -p "/run/weir-box/$name/mine"
runs 1 "$weir" box up "$name" --storage none
says err "is no box"
runs 1 "$weir" box down "$name"
says err "left alone"
rmdir "/run/weir-box/$name/mine" "/run/weir-box/$name"
rmdir /run/weir-box 2>/dev/null || true
nothing_left before

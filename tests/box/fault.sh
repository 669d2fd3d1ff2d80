#!/bin/sh
# fault.sh WEIR PROGRAM: hosts that die or are cut off in the middle of a step, and a slow link, in a box of its own, which
# then goes without a trace.
set -eu
weir=$1
program=$2
name=fault
. "$(dirname "$0")/common.sh"
"$weir" box down "$name" >/dev/null 2>&1 || true
trap '"$weir" box down "$name" >/dev/null 2>&1 || true; rm -rf "$directory"' EXIT
up() { "$weir" box up "$name" --topology star:4:0 --storage none >/dev/null; }
down() { "$weir" box down "$name" >/dev/null; }
# fails_after COMMAND...: a job that is under way when the command comes ends with an error, in a minute.
fails_after() {
  rm -f steps err
  timeout 60 "$weir" box run --box "$name" -n 4 -- "$program" loop "$directory/file" 1 >steps 2>err </dev/null &
  running=$!
  tries=0
  until grep -q 'step 2' steps 2>/dev/null; do
    tries=$((tries + 1))
    kill -0 $running 2>/dev/null && [ $tries -lt 600 ] || fail "the job does not start" steps err
    sleep 0.05
  done
  "$@"
  code=0
  wait $running || code=$?
  [ $code -ne 0 ] || fail "the job ends well after '$*'" steps err
  [ $code -ne 124 ] || fail "the job does not end after '$*'" steps err
}

settled before
up
"$weir" box link --box "$name" c1 r0 5mbit
WEIR_PLAN_MODE=aggregate job 4 "$program" write "$directory/slow" 3
"$program" check "$directory/slow" 3 4 || fail "wrong over a slow link"
"$weir" box link --box "$name" c1 r0 200mbit
fails_after "$weir" box cut --box "$name" c2
says err "c2"
"$weir" box mend --box "$name" c2
job 4 "$program" write "$directory/mended" 3
"$program" check "$directory/mended" 3 4 || fail "wrong after the link came back"
fails_after "$weir" box kill --box "$name" c3
says err "c3"
down
nothing_left before

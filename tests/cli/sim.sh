#!/bin/sh
# sim.sh WEIR: what `weir sim` prints for people and for programs.
set -eu
weir=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" sim --help
for word in NAME --list --sweep --json --svg --markdown Experiments: placement-mira Examples:; do says out "$word"; done
runs 0 "$weir" sim --list
silent err
for name in placement-mira buffers-mira hacc-mira hacc-theta array-theta tiers-theta node-storage-theta psets-intrepid \
  remote-memory-cooley library; do says out "$name"; done
runs 2 "$weir" sim
says err "--list"
runs 2 "$weir" box compare
echo '{"results": []}' >none.json
runs 2 "$weir" box compare none.json
says err "--box torus --json"
runs 1 "$weir" box compare absent.json
says err "absent.json"
runs 2 "$weir" sim placement-mara
silent out
says err "did you mean 'placement-mira'?"

"$weir" info | grep -q '^simgrid *yes' || {
  runs 1 "$weir" sim placement-mira
  says err "this build is without SimGrid"
  echo "weir sim: nothing simulated, this build is without SimGrid"
  exit 77
}

runs 1 "$weir" sim remote-memory-cooley --svg /nowhere/plot.svg
says err "/nowhere/plot.svg"

runs 0 "$weir" sim placement-mira --sweep --json results.json --svg plot.svg --markdown section.md
silent err
for word in "case" "paper MB/s" "simulated MB/s" "ratio" "assumed" "claim 3 holds in"; do says out "$word"; done
says plot.svg "<svg"
says plot.svg "topology-aware"
says section.md "![placement-mira](papers/placement-mira.svg)"
simulated() {
  tr -d '\n' <results.json | sed 's/"sweep".*//' | grep -oE "\"case\": \"$1\", *\"paper\": [a-z0-9.]+, *\"simulated\": [0-9.]+" | sed 's/.*: //'
}
for name in greedy "longest path" "shortest path" topology-aware weir; do
  [ -n "$(simulated "$name")" ] || fail "no result of $name" results.json
done
awk -v g="$(simulated greedy)" -v l="$(simulated "longest path")" -v s="$(simulated "shortest path")" \
  -v t="$(simulated topology-aware)" -v w="$(simulated weir)" \
  'BEGIN { exit !(t >= 1.25 * g && t >= l && t >= s && w >= t) }' || fail "the order of placements" out
sed -n 's/^claim 3 holds in \([0-9]*\) of \([0-9]*\) .*/\1 \2/p' out | awk '{ exit !($2 >= 10 && $1 >= 0.9 * $2) }' ||
  fail "weir is behind topology-aware in more than a tenth of the sweep" out

runs 0 "$weir" sim placement-mira --json -
grep -q '^{' out || fail "only JSON" out
says out '"results"'
echo "weir sim: all as expected"

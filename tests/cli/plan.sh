#!/bin/sh
# plan.sh WEIR: what `weir plan` and `weir bench placement` print for people and for programs.
set -eu
weir=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
. "$(dirname "$0")/checks.sh"
cd "$directory"

runs 0 "$weir" plan --help
for word in --machine --model --workload --capacity --persistency --compare --json Examples:; do says out "$word"; done

# MA-TAPIOCA's tables: process, bank, seconds.
runs 0 "$weir" plan --machine toy --model ma-tapioca --json -
silent err
tr -d ' \n' <out | grep -oE '"process":[0-9],"node":[0-9],"bank":"[a-z]+","domain":0,"seconds":[0-9.]+,"chosen":[a-z]+' \
  >costs
[ "$(grep -c . costs)" -eq 12 ] || fail "twelve costs" costs
cost() {
  found=$(grep "^\"process\":$1,.*\"bank\":\"$2\"" costs | sed 's/.*"seconds":\([0-9.]*\),.*/\1/')
  awk -v found="$found" -v expected="$3" -v within="$4" \
    'BEGIN { d = found - expected; exit !((d < 0 ? -d : d) <= within) }' || fail "process $1 $2: $found, not $3" costs
}
cost 0 hbm 0.593 0.001; cost 1 hbm 0.470 0.001; cost 2 hbm 0.742 0.001; cost 3 hbm 0.503 0.001
cost 0 dram 0.603 0.001; cost 1 dram 0.480 0.001; cost 2 dram 0.752 0.001; cost 3 dram 0.513 0.001
cost 0 nvr 2.350 0.0235; cost 1 nvr 2.020 0.0202; cost 2 nvr 2.710 0.0271; cost 3 nvr 2.120 0.0212
[ "$(grep -c '"chosen":true' costs)" -eq 1 ] || fail "one is chosen" costs
grep '"chosen":true' costs | grep -q '"process":1,"node":1,"bank":"hbm"' || fail "HBM of process 1" costs

# The capacity fallback.
chosen() { tr -d ' \n' <out | grep -q "\"chosen\":{\"process\":1,\"node\":1,\"bank\":\"$1\"}" || fail "$1 is not chosen" out; }
runs 0 "$weir" plan --machine toy --model ma-tapioca --capacity hbm=32MB --json -
chosen dram
runs 0 "$weir" plan --machine toy --model ma-tapioca --capacity hbm=32MB --capacity dram=32MB --json -
chosen nvr
runs 1 "$weir" plan --machine toy --model ma-tapioca --capacity hbm=32MB --capacity dram=32MB --capacity nvr=1MB
says err "no memory bank will do"
runs 0 "$weir" plan --machine toy --model ma-tapioca --persistency job --json -
chosen nvr

runs 0 "$weir" plan --machine mira-512 --compare --json compared.json
for model in greedy shortest longest random tapioca ma-tapioca weir; do
  grep -qE "^$model +[0-9.]+ " out || fail "no line of $model" out
done
grep -qE "^model .* published$" out || fail "nothing published beside" out
grep -qE "^longest .* 1\.14$" out || fail "not what was published for longest" out
grep -qE "^tapioca .* 1\.37$" out || fail "not what was published for tapioca" out
says out "bytes by class of link"
says out "predicted:"
says compared.json '"comparison"'
runs 0 "$weir" plan --machine theta --nodes 64 --ranks-per-node 4 --workload hacc --parameter particles=1000
says out "writes 9.28 MiB in"
says out "model weir on theta"
first=$(sed -n 's/^  domain 0  *node \([0-9]*\) .*/\1/p' out)
grep -qE "^  rank [0-9]+ \(node $first\): bytes 0 to" out || fail "the plan and the election name different nodes" out
for word in "candidates for domain 0:" "  chosen" "placements that were compared: " "by these figures: storage writes"; do
  says out "$word"
done
runs 0 "$weir" plan --machine 'torus 4x4 link 2GBps storage gpfs 1GBps 1us' --workload array1d --ranks-per-node 2
says out "32 ranks on 16 nodes"

runs 2 "$weir" plan --machine nowhere
silent out
runs 2 "$weir" plan --machine toy --model cheapest
runs 2 "$weir" plan --machine toy --nodes 5
says err "has 4 nodes, not 5"
runs 2 "$weir" plan --machine laptop
says err "--workload"

runs 0 "$weir" bench placement --machine theta --nodes 64,128 --aggregators 4,16 --runs 1 --json -
[ "$(grep -c '"median_s":' out)" -eq 12 ] || fail "three models, two sizes of job, two numbers of aggregators" out

# Through memory servers or not, and why.
far="flat 8 link 100MBps latency 50us ranks 2 bank dram 16GB 20GBps 90ns storage gpfs 10GBps 1ms bank far remote 4GB"
runs 0 "$weir" plan --machine "$far 5GBps 3us" --workload hacc --parameter particles=25000
says out "every rank for itself would take"
says out "with the traffic of this step two phases take"
says out ": three phases"
says out "in three phases through bank 'far'"
runs 0 "$weir" plan --machine "$far 5GBps 3us" --workload hacc --parameter particles=25000 --json -
says out '"mode": "three phases"'
runs 0 "$weir" plan --machine "$far 1MBps 3us" --workload hacc --parameter particles=25000 --json -
says out '"mode": "direct"'
runs 0 "$weir" plan --machine "$far 1MBps 3us" --workload hacc --parameter particles=25000 --bank far
says out "memory.tier asks for it"

echo "weir plan: all as expected"

#!/bin/sh
# bench.sh WEIR NAME: `weir bench` in a box that is up.
set -eu
weir=$1
name=$2
. "$(dirname "$0")/common.sh"
"$weir" bench hacc --particles 1000 --ranks 8 --box "$name" --operation write --against romio,greedy --pairs 3 --budget 1 --json results >table
says table "wire"
says table "greedy, plan.model=greedy"
says results '"wire_s": 0.0'
grep -q '"busiest_link_part": 0\.0*[1-9]' results || fail "how full the links to the storage were is not told" results
! grep -q '"verified": false' results || fail "wrong contents" results
if "$weir" info | grep -q '^simgrid *yes'; then
  "$weir" box compare results --json compared >table
  says table "simulated / real"
  says compared '"same_plan": true'
  ! grep -q '"same_plan": false' compared || fail "the simulated plan is not the job's" compared
fi
